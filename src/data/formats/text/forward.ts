/** Text read once, forwards, for predictions. */
import { lineBreaks, ownMemory, type Slice, Slices } from '../../bytes/slices.ts';
import type { Piece } from '../../piece.ts';
import type { ForwardGroup, ForwardOptions, ForwardReader } from '../format.ts';
import { GroupSink, type GroupSource } from './group-sink.ts';
import type { Scoring } from './kind.ts';
import { placeOf, refuseLong } from './read-slices.ts';
import { readText } from './read-text.ts';
import { openQuote } from './read-whole.ts';

export function openLinesForward<P extends Piece>(
  scoring: Scoring<P> | undefined,
  { file, batchSize, keep, sliceBytes }: ForwardOptions,
): ForwardReader {
  if (scoring === undefined) return { kept: keep, async *parts() {}, read: () => [] };
  const { head, reading, kept } = scoring;
  return {
    kept: kept.names,
    async *parts(source) {
      await source.take(head.offset);
      const slices = new Slices(source, { ...head, rules: reading.rules, sliceBytes, room: ownMemory });
      for (let slice = await slices.next(); slice !== undefined; slice = await slices.next()) {
        const { bytes, isLast, ...place } = slice;
        const whole = bytes.subarray(0, isLast ? bytes.length : reading.wholeRecords(bytes));
        slices.passed(whole.length, lineBreaks(whole));
        if (whole.length > 0 || slice.long !== undefined) yield { bytes: whole, ...place };
      }
    },
    read: (part) => readPart(part, scoring, { file, batchSize }),
  };
}

function readPart<P extends Piece>(
  part: Pick<Slice, 'bytes' | 'offset' | 'first' | 'long'>,
  scoring: Scoring<P>,
  { file, batchSize }: Pick<ForwardOptions, 'file' | 'batchSize'>,
): readonly ForwardGroup[] {
  const { bytes, offset, first, long } = part;
  const { reading } = scoring;
  if (long?.isOpen) throw openQuote(file, { kind: 'open', line: long.line, column: 1 });
  const sink = new GroupSink({ ...scoring, file, batchSize }, sourceIn(bytes, batchSize, scoring));
  refuseLong(part, file, sink);
  const done = readText({ file, bytes, offset, firstLine: first }, reading, sink);
  if (done.openQuote !== undefined) throw openQuote(file, { kind: 'open', ...placeOf(bytes, first, done) });
  return sink.groups();
}

const sourceIn = <P extends Piece>(
  text: Uint8Array,
  batchSize: number,
  { reading, kept, pathBytes }: Scoring<P>,
): GroupSource => ({
  from: 0,
  roomAt(at) {
    const left = text.length - at;
    // Few long lines need less room than a batch.
    const records = Math.min(batchSize, Math.max(1, Math.ceil((left + 1) / reading.leastBytes)));
    return { records, bytes: left + records * pathBytes };
  },
  texts: kept.names.length === 0 ? undefined : kept.textsIn(text),
});
