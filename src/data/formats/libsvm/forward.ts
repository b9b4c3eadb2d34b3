/** LIBSVM and libFM text read once, forwards, for predictions. A label may be any number: it is not used. */
import { LIMITS } from '../../../base/limits.ts';
import { BOM, HASH, isBlank, NEWLINE } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import type { ForwardBytes } from '../../forward.ts';
import { sparseKernel } from '../../kernels/sparse-kernel.ts';
import { SparseBlockBuilder } from '../../parsed/sparse-block-builder.ts';
import { sparseRecords } from '../../parsed/sparse-records.ts';
import type { ForwardGroup, ForwardOptions, ForwardRecords } from '../format.ts';
import { FEWEST_FEATURE_BYTES } from './parser.ts';
import { parseText } from './text.ts';

/** Some milliseconds of parsing. */
const SLICE_BYTES = 1 << 20;
const NOTHING = new Uint8Array(0);

export const readLibsvmForward = async (source: ForwardBytes, options: ForwardOptions): Promise<ForwardRecords> => ({
  kept: [],
  groups: groupsOf(source, options),
});

/** A line that is longer than any record: it is skipped, up to its end. */
interface LongLine {
  readonly start: number;
  readonly isRecord: boolean;
}

async function* groupsOf(
  source: ForwardBytes,
  { file, mayHaveWeight, batchSize, sliceBytes = SLICE_BYTES }: ForwardOptions,
): AsyncGenerator<ForwardGroup> {
  const rule = { task: 'regression', mayHaveWeight } as const;
  let line = 1;
  let at = await skipMark(source);
  /** The beginning of a line whose end is in a later slice. */
  let held: Uint8Array = NOTHING;
  let long: LongLine | undefined;
  for (let isLast = false; !isLast; ) {
    let slice = await source.take(sliceBytes);
    isLast = slice.length < sliceBytes;
    at += slice.length;
    let ended: (LongLine & { readonly bytes: number }) | undefined;
    if (long !== undefined) {
      const newline = slice.indexOf(NEWLINE);
      if (newline < 0 && !isLast) continue;
      const end = at - slice.length + (newline < 0 ? slice.length : newline);
      slice = newline < 0 ? NOTHING : slice.subarray(newline + 1);
      ended = { ...long, bytes: end - long.start };
      long = undefined;
    }
    const bytes = held.length === 0 ? slice : Buffer.concat([held, slice]);
    const end = isLast ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
    const offset = at - bytes.length;
    const text = bytes.subarray(0, end);
    held = bytes.subarray(end);
    const records = lineCount(text) + 1;
    const size = { records, features: Math.ceil(text.length / FEWEST_FEATURE_BYTES), batchSize };
    const builder = new SparseBlockBuilder(size, sparseKernel());
    builder.startPart(file);
    if (ended !== undefined) {
      const { start, isRecord, bytes: length } = ended;
      if (isRecord) builder.bad({ file, line, byteOffset: start, reason: tooLong(length) });
      line += 1;
    }
    line += parseText({ file, bytes: text, offset, firstLine: line }, rule, builder)!;
    if (builder.records > 0) yield { records: sparseRecords(builder.finish()) };
    if (held.length <= LIMITS.recordBytes) continue;
    const first = held.findIndex((byte) => !isBlank(byte));
    long = { start: at - held.length, isRecord: first >= 0 && held[first] !== HASH };
    held = NOTHING;
  }
}

/** Bytes of the byte order mark. */
async function skipMark(source: ForwardBytes): Promise<number> {
  const first = await source.peek(BOM.length);
  const isMark = BOM.every((byte, at) => first[at] === byte);
  return (await source.take(isMark ? BOM.length : 0)).length;
}

/** Lines of the text, at most: one that lacks its end counts. */
function lineCount(text: Uint8Array): number {
  let count = 1;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
