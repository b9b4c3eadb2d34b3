/** LIBSVM, libFM and libffm text read once, forwards, for predictions. A label may be any number: it is not used. */
import { BOM, HASH } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import { cutParts, type ForwardPart, lineBreaks, plainLineEnd, wholePlainLines } from '../../forward-parts.ts';
import { sparseKernel } from '../../kernels/sparse-kernel.ts';
import { BlockBuilder } from '../../parsed/block-builder.ts';
import { blockRecords } from '../../parsed/block-records.ts';
import type { ForwardGroup, ForwardHead, ForwardOptions, ForwardReader } from '../format.ts';
import { FEWEST_FEATURE_BYTES } from './parser.ts';
import { parseText } from './text.ts';

export function openTextForward(head: ForwardHead, options: ForwardOptions, hasFields: boolean): ForwardReader {
  const offset = BOM.every((byte, at) => head.bytes[at] === byte) ? BOM.length : 0;
  return {
    kept: [],
    async *parts(source) {
      await source.take(offset);
      yield* cutParts(source, {
        offset,
        line: 1,
        wholeRecords: wholePlainLines,
        lineEnd: plainLineEnd,
        sliceBytes: options.sliceBytes,
      });
    },
    read: (part) => readPart(part, options, hasFields),
  };
}

function readPart(
  { bytes, offset, first, long }: ForwardPart,
  { file, mayHaveWeight, batchSize, readsFields }: ForwardOptions,
  hasFields: boolean,
): ForwardGroup[] {
  // The last line may lack its end.
  const records = lineBreaks(bytes) + 2;
  const features = [Math.ceil(bytes.length / FEWEST_FEATURE_BYTES)];
  const size = { records, features, batchSize, hasFields: readsFields };
  const builder = new BlockBuilder(size, sparseKernel());
  builder.startPart(file);
  if (long?.begins !== undefined && long.begins !== HASH) {
    // As the parser counts: without the line break.
    const reason = tooLong(long.bytes - (long.isEnded ? 1 : 0));
    builder.bad({ file, line: long.line, byteOffset: long.start, reason });
  }
  parseText({ file, bytes, offset, firstLine: first, hasFields }, { task: 'regression', mayHaveWeight }, builder);
  return builder.records === 0 ? [] : [{ records: blockRecords(builder.finish()) }];
}
