/** Text to pieces of columns: by the kernel, and line by line what it leaves. */
import { isUtf8 } from 'node:buffer';
import { LIMITS } from '../../../base/limits.ts';
import { NEWLINE } from '../../ascii.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import { passTimed } from '../../columns/times.ts';
import { READ } from '../../kernels/exports.ts';
import type { BadRecord } from '../../source.ts';
import { textKernel } from './kernel.ts';
import type { Line, LinePlan, LineReader, LineText } from './plan.ts';
import { badRecord } from './values.ts';

/** Number of bad records whose text is kept, to show it and to see what the file looks like. */
const SHOWN_RECORDS = 8;

/** How far some text was read. */
export interface ReadText {
  readonly bytes: number;
  readonly lines: number;
  /** The sink has no room for the record that comes next. */
  readonly isFull: boolean;
  /** A quote, at that byte, is not closed within the text: the rest is not read. */
  readonly openQuote?: number;
}

/**
 * Reads lines until the text ends. Its last line is whole: it has its line break, or the file ends there. Throws
 * nothing: what does not fit the plan is a bad record.
 */
export function readText(text: LineText, plan: LinePlan, into: PieceSink): ReadText {
  const { bytes } = text;
  const { form } = plan;
  const plain = form.reader(text, plan);
  // The kernel takes a NUL byte for a character, the plain form does not; JSON lines have none in the kernel either.
  const isPlain = bytes.length > LIMITS.kernelTextBytes || (!form.isUtf8 && bytes.includes(0));
  if (isPlain) return readPlainly(text, plain, plan, into);
  const kernel = textKernel();
  kernel.prepare(plan);
  kernel.begin(bytes);
  if (form.isUtf8 && !isUtf8(bytes)) for (const start of faultyLines(bytes)) kernel.spoil(start);
  for (;;) {
    const { status, piece } = kernel.next(Math.min(into.quota, LIMITS.pieceRecords));
    if (piece.records > 0) pass(piece, text, plan, into);
    const { at, lines } = kernel;
    if (status === READ.done) return { bytes: bytes.length, lines, isFull: false };
    if (status === READ.full && into.quota > 0) continue;
    if (into.quota === 0) {
      const next = plain.read(at, lines);
      if (next.kind !== 'none') return { bytes: at, lines, isFull: true };
      kernel.skip(next.end, next.lines);
      continue;
    }
    const line = plain.read(at, lines);
    if (line.kind === 'open') return { bytes: at, lines, isFull: false, openQuote: line.at };
    take(line, at, text, plan, into);
    kernel.skip(line.end, line.lines);
  }
}

/** Where lines begin that are not UTF-8. */
function* faultyLines(bytes: Uint8Array): Generator<number> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    if (!isUtf8(bytes.subarray(start, end))) yield start;
    start = end;
  }
}

function readPlainly(text: LineText, plain: LineReader, plan: LinePlan, into: PieceSink): ReadText {
  const { bytes } = text;
  let lines = 0;
  for (let at = 0; at < bytes.length; ) {
    const line = plain.read(at, lines);
    if (line.kind !== 'none' && into.quota === 0) return { bytes: at, lines, isFull: true };
    if (line.kind === 'open') return { bytes: at, lines, isFull: false, openQuote: line.at };
    take(line, at, text, plan, into);
    lines += line.lines;
    at = line.end;
  }
  return { bytes: bytes.length, lines, isFull: false };
}

function take(
  line: Exclude<Line, { kind: 'open' }>,
  start: number,
  text: LineText,
  plan: LinePlan,
  into: PieceSink,
): void {
  if (line.kind === 'good') pass(line.piece, text, plan, into);
  if (line.kind === 'bad') refuse(line.bad, start, line.end, into);
}

/** A piece may have records whose time is bad. */
function pass(piece: ColumnPiece, text: LineText, { times }: LinePlan, into: PieceSink): void {
  if (times === undefined) {
    into.add(piece, text.firstLine);
    return;
  }
  passTimed(piece, times, {
    add: (good) => into.add(good, text.firstLine),
    bad(record, reason) {
      const [line, start, end] = [piece.lines[record]!, piece.starts[record]!, piece.ends[record]!];
      refuse(badRecord(text, { line, start, end }, reason), start, end, into);
    },
  });
}

function refuse(record: BadRecord, start: number, end: number, into: PieceSink): void {
  const { text: shown, ...bad } = record;
  into.bad(shown === undefined || into.badRecords >= SHOWN_RECORDS ? bad : record, start, end);
}
