/** Images of MNIST read once, forwards, for predictions: without their labels. */
import { PaddletError } from '../../../base/errors.ts';
import { DenseRecordsBuilder } from '../../dense-records.ts';
import type { ForwardBytes } from '../../forward.ts';
import type { ForwardGroup, ForwardOptions, ForwardRecords } from '../format.ts';
import { headerIn, IMAGES_HEADER_BYTES, invalid } from './header.ts';

const SLICE_BYTES = 1 << 20;

export async function readIdxForward(source: ForwardBytes, options: ForwardOptions): Promise<ForwardRecords> {
  const { file, inputWidth } = options;
  const { kind, count, width } = headerIn(file, await source.take(IMAGES_HEADER_BYTES));
  if (kind !== 'images') throw invalid(file, `holds ${kind}, not images`);
  if (width !== inputWidth) {
    throw new PaddletError('DataInvalid', `${file} has ${width} inputs a record, the model takes ${inputWidth}`);
  }
  return { kept: [], groups: groupsOf(source, options, count) };
}

async function* groupsOf(
  source: ForwardBytes,
  { file, inputWidth: width, batchSize, sliceBytes = SLICE_BYTES }: ForwardOptions,
  count: number,
): AsyncGenerator<ForwardGroup> {
  const perGroup = Math.min(batchSize, Math.max(1, Math.floor(sliceBytes / width)));
  for (let firstRecord = 0; firstRecord < count; firstRecord += perGroup) {
    const records = Math.min(perGroup, count - firstRecord);
    const images = await source.take(records * width);
    if (images.length < records * width) throw invalid(file, `ends before its ${count} images`);
    const builder = new DenseRecordsBuilder(records, width);
    const offset = IMAGES_HEADER_BYTES + firstRecord * width;
    const classes = new Uint8Array(records);
    builder.add({ file, firstRecord, offset, images, classes }, { task: 'regression' });
    yield { records: builder.finish() };
  }
  if ((await source.peek(1)).length > 0) throw invalid(file, `goes on behind its ${count} images`);
}
