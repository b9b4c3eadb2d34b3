/** Images of MNIST read once, forwards, for predictions: without their labels. */
import { PaddletError } from '../../../base/errors.ts';
import { DenseRecordsBuilder } from '../../dense-records.ts';
import type { ForwardHead, ForwardOptions, ForwardReader } from '../format.ts';
import { headerIn, IMAGES_HEADER_BYTES, invalid } from './header.ts';

const SLICE_BYTES = 1 << 20;

export function openIdxForward(head: ForwardHead, options: ForwardOptions): ForwardReader {
  const { file, inputWidth: width, batchSize, sliceBytes = SLICE_BYTES } = options;
  const header = headerIn(file, head.bytes.subarray(0, IMAGES_HEADER_BYTES));
  const { kind, count } = header;
  if (kind !== 'images') throw invalid(file, `contains ${kind}, not images`);
  if (header.width !== width) {
    throw new PaddletError(
      'DataInvalid',
      `expected ${width} inputs per record in ${file}, as the model expects, got ${header.width}`,
    );
  }
  const perPart = Math.min(batchSize, Math.max(1, Math.floor(sliceBytes / width)));
  return {
    kept: [],
    async *parts(source) {
      await source.take(IMAGES_HEADER_BYTES);
      for (let before = 0; before < count; before += perPart) {
        const records = Math.min(perPart, count - before);
        const bytes = await source.take(records * width);
        if (bytes.length < records * width) throw invalid(file, `ends before its ${count} images`);
        yield { bytes, offset: IMAGES_HEADER_BYTES + before * width, first: before + 1 };
      }
      if ((await source.peek(1)).length > 0) throw invalid(file, `has more bytes after its ${count} images`);
    },
    read({ bytes: images, offset, first }) {
      const records = images.length / width;
      const builder = new DenseRecordsBuilder(records, width);
      const part = { file, firstRecord: first - 1, offset, images, classes: new Uint8Array(records) };
      builder.add(part, { task: 'regression' });
      return [{ records: builder.finish() }];
    },
  };
}
