/** Images and labels of MNIST as a data format. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { openContent } from '../../bytes/content.ts';
import { changed, countRecords } from '../../chunk-check.ts';
import { DenseRecordsBuilder } from '../../dense-records.ts';
import type { OpenFiles } from '../../open-files.ts';
import type { Chunk } from '../../source.ts';
import { type Format, type ParsedTask, type ReadOptions, UNTIMED } from '../format.ts';
import { openIdxForward } from './forward.ts';
import { IMAGES_HEADER_BYTES, LABELS_HEADER_BYTES, readIdxHeader } from './header.ts';
import { indexImages } from './indexer.ts';
import { pairsOf } from './pairs.ts';

export const idxFormat: Format = {
  input: 'dense',
  hasFields: false,
  hasLabelFiles: true,
  async find(place, wanted) {
    const pairs = await pairsOf(place, wanted);
    return { paths: pairs.map(({ images }) => images), labels: pairs.map(({ labels }) => labels) };
  },
  index: indexImages,
  async countRecords(place, path) {
    const content = await openContent(place, path);
    try {
      return (await readIdxHeader(content)).count;
    } finally {
      await content.file.close();
    }
  },
  read,
  openForward: openIdxForward,
};

async function read(files: OpenFiles, options: ReadOptions, chunks: readonly Chunk[]): Promise<ParsedTask> {
  const { inputWidth, labels, times = UNTIMED } = options;
  const builder = new DenseRecordsBuilder(countRecords(options.files, chunks), inputWidth);
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    if (chunk.bytes !== chunk.records * inputWidth) {
      const width = chunk.bytes / chunk.records;
      throw new PaddletError(
        'DataInvalid',
        `expected ${inputWidth} inputs per record in ${file}, as the model expects, got ${width}`,
      );
    }
    assert(chunk.offset === IMAGES_HEADER_BYTES + chunk.firstRecord * inputWidth, 'the chunk begins at its record');
    const images = await files.bytes(chunk.file, chunk.offset, chunk.bytes, builder.room(chunk.bytes));
    const classes = await files.labels(chunk.file, LABELS_HEADER_BYTES + chunk.firstRecord, chunk.records);
    if (times.during('read', () => crc32(classes, crc32(images))) !== chunk.crc32) throw changed(file, chunk);
    const { firstRecord, offset } = chunk;
    times.during('parse', () => builder.add({ file, firstRecord, offset, images, classes }, labels));
  }
  return { records: builder.finish() };
}
