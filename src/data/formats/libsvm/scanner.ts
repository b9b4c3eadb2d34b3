/**
 * Finds the records of a text file: one sweep over its bytes, in bounded memory. Parses only what it needs to
 * find where records are and how large ids, fields and labels get; bad records are found when their task is read.
 */
import { LIMITS } from '../../../base/limits.ts';
import { BOM, COLON, HASH, isBlank, NEWLINE, parseU64 } from '../../ascii.ts';
import type { ChunkCutter } from '../../chunk-cutter.ts';
import type { Content } from '../../content.ts';
import { noteLabel } from '../../oddities.ts';
import type { Selector } from '../../selection.ts';
import type { Bounds } from '../format.ts';
import { writtenLabel } from './parser.ts';

const BUFFER_BYTES = 4 << 20;

export interface ScanOptions {
  readonly selector?: Selector | undefined;
  /** Whether features are `field:id:value`. */
  readonly hasFields?: boolean;
  readonly bufferBytes?: number;
}

/**
 * Passes the file's records to the cutter, raises `bounds`, and reports each stretch read to `onBytes`. The buffer
 * grows with the longest line, up to twice LIMITS.recordBytes. Returns whether a record has a feature.
 */
export async function scanText(
  content: Content,
  cutter: ChunkCutter,
  bounds: Bounds,
  onBytes: (count: number) => void,
  { selector, hasFields = false, bufferBytes = BUFFER_BYTES }: ScanOptions = {},
): Promise<boolean> {
  const scanner = new TextScanner(cutter, bounds, selector, hasFields);
  // For the whole content, where it is smaller: it ends where a buffer is not filled.
  let buffer = new Uint8Array(Math.min(bufferBytes, content.bytes + 2));
  let held = 0;
  for (let offset = 0; ; ) {
    // One byte is kept free: the scanner puts a line break after the last byte.
    const count = await content.file.read(buffer.subarray(held, buffer.length - 1), offset);
    const filled = held + count;
    onBytes(count);
    const isEnd = filled < buffer.length - 1;
    const base = offset - held;
    offset += count;
    const start = base === 0 && BOM.every((byte, at) => buffer[at] === byte) ? BOM.length : 0;
    const done = scanner.scan(buffer, start, filled, base, isEnd);
    if (isEnd) return scanner.hasFeatures;
    held = filled - done;
    if (done > 0) buffer.copyWithin(0, done, filled);
    else if (buffer.length <= LIMITS.recordBytes) buffer = widened(buffer);
    else held = scanner.skipStart(buffer, filled, base);
  }
}

function widened(buffer: Uint8Array): Uint8Array<ArrayBuffer> {
  const wider = new Uint8Array(buffer.length * 2);
  wider.set(buffer);
  return wider;
}

/** Where the token at `from` ends. Its line ends in a line break, so this stops within the buffer. */
function tokenEnd(buffer: Uint8Array, from: number): number {
  let at = from;
  while (buffer[at]! > HASH) at++;
  return at;
}

/** Every whole number below is exact as f64. */
const EXACT = 2 ** 53;
/** Less than what is left of a number of 20 digits that was read as f64 and rounded some times. */
const MARGIN = 1 - 2 ** -48;

class TextScanner {
  private readonly cutter: ChunkCutter;
  private readonly bounds: Bounds;
  private readonly selector: Selector | undefined;
  private readonly hasFields: boolean;
  /** Position of the next record in the file, counting the records that are not selected. */
  private position = 0;
  private readonly id = { low: 0, high: 0 };
  /** Ids below it, read as f64, cannot raise the feature bound. */
  private floor = 0;
  hasFeatures = false;
  private line = 1;
  /** Where the line being skipped began, and whether it is a record; undefined when none is. */
  private skipped: { readonly start: number; readonly isRecord: boolean } | undefined;

  constructor(cutter: ChunkCutter, bounds: Bounds, selector: Selector | undefined, hasFields: boolean) {
    this.cutter = cutter;
    this.bounds = bounds;
    this.selector = selector;
    this.hasFields = hasFields;
  }

  /**
   * Scans the whole lines in [from, filled); at the end of the file also the last one without a line break. Returns
   * where the line begins that is not yet whole. `buffer[filled]` is overwritten.
   */
  scan(buffer: Uint8Array, from: number, filled: number, base: number, isEnd: boolean): number {
    let at = from;
    if (this.skipped !== undefined) {
      const newline = buffer.subarray(0, filled).indexOf(NEWLINE);
      if (newline < 0 && !isEnd) return filled;
      at = newline < 0 ? filled : newline + 1;
      this.endSkipped(base + at);
    }
    buffer[filled] = NEWLINE;
    this.cutter.show(buffer, base);
    const done = this.lines(buffer, at, filled, base, isEnd);
    this.cutter.retire(base + done);
    return done;
  }

  /** The line at the start of the full buffer is longer than any record: its bytes are dropped, up to its end. */
  skipStart(buffer: Uint8Array, filled: number, base: number): number {
    this.cutter.endChunk();
    let at = 0;
    while (at < filled && isBlank(buffer[at]!)) at++;
    this.skipped = { start: base, isRecord: at < filled && buffer[at] !== HASH };
    return 0;
  }

  private endSkipped(end: number): void {
    if (this.skipped?.isRecord) this.cut(this.skipped.start, end, Number.NaN);
    this.skipped = undefined;
    this.line++;
  }

  private lines(buffer: Uint8Array, from: number, filled: number, base: number, isEnd: boolean): number {
    let start = from;
    while (start < filled) {
      let at = start;
      while (isBlank(buffer[at]!)) at++;
      const isRecord = buffer[at] !== NEWLINE && buffer[at] !== HASH;
      const end = isRecord ? this.record(buffer, at) : buffer.indexOf(NEWLINE, at);
      if (end >= filled && !isEnd) return start;
      const next = Math.min(end + 1, filled);
      if (isRecord) {
        const label = this.noteLabel(buffer, at, end);
        this.cut(base + start, base + next, label);
      }
      this.line++;
      start = next;
    }
    return start;
  }

  /** `label`: NaN where it is not known. */
  private cut(start: number, end: number, label: number): void {
    const position = this.position++;
    const { cutter, selector, line } = this;
    if (selector !== undefined && !selector.keeps({ position, label: label === -1 ? 0 : label })) return;
    const asPosition = selector && position;
    if (end - start > LIMITS.recordBytes) cutter.overlongRecord(start, end, line, asPosition);
    else cutter.record(start, end, line, asPosition);
  }

  private noteLabel(buffer: Uint8Array, from: number, to: number): number {
    const label = writtenLabel(buffer, from, to);
    noteLabel(this.bounds.traits, label);
    if (label >= this.bounds.labelBound && Number.isInteger(label)) {
      this.bounds.labelBound = Math.min(label + 1, Number.MAX_SAFE_INTEGER);
    }
    return label;
  }

  /** Raises the bounds of ids and fields by a record, even a bad one. Returns where its line ends. */
  private record(buffer: Uint8Array, from: number): number {
    let at = tokenEnd(buffer, from);
    let id = 0;
    /** Before the last colon, and the last byte that was no digit. */
    let field = 0;
    let before = 0;
    for (let byte = buffer[at]!; byte !== NEWLINE; byte = buffer[++at]!) {
      const digit = byte - 48;
      if (digit >= 0 && digit <= 9) id = id * 10 + digit;
      else if (byte === HASH) break;
      else {
        if (byte === COLON) {
          // That of a group, `qid:`, has no digit before it.
          if (buffer[at - 1]! <= 57) this.hasFeatures = true;
          // A field has a second colon behind its id: lines of other formats have no such thing.
          if (this.hasFields && before !== COLON) field = id;
          else {
            if (this.hasFields) this.raiseFieldBound(field);
            if (id >= this.floor) this.raiseFeatureBound(buffer, at);
          }
        }
        id = 0;
        before = byte;
      }
    }
    return buffer.indexOf(NEWLINE, at);
  }

  /** That of a record whose fields are too high is bad. */
  private raiseFieldBound(field: number): void {
    const { bounds } = this;
    if (field < LIMITS.fields && field >= bounds.fieldBound) bounds.fieldBound = field + 1;
  }

  /** By the id whose digits end at `to`, if it is a u64. */
  private raiseFeatureBound(buffer: Uint8Array, to: number): void {
    const { bounds, id } = this;
    let from = to;
    while (buffer[from - 1]! >= 48 && buffer[from - 1]! <= 57) from--;
    if (!parseU64(buffer, from, to, id)) return;
    const bound = ((BigInt(id.high) << 32n) | BigInt(id.low)) + 1n;
    if (bound > bounds.featureBound) bounds.featureBound = bound;
    const highest = Number(bounds.featureBound);
    this.floor = highest < EXACT ? highest : highest * MARGIN;
  }
}
