/**
 * Lines of CSV text to records, one by one: the plain form of `kernels/assembly/csv.ts`, which leaves to this what is
 * unusual, all bad records among it.
 */
import { LIMITS } from '../../../base/limits.ts';
import { NUL_REASON } from '../../appearance.ts';
import { NEWLINE, quote } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { Line, LineReader, LineText } from '../text/lines.ts';
import type { LinePlan } from '../text/plan.ts';
import { badRecord, RecordValues } from '../text/values.ts';
import { FieldReader, REPEATED_HEADER } from './fields.ts';
import type { HeaderNames } from './layout.ts';

const AFTER_BYTES = 20;

export class CsvLineReader implements LineReader<ColumnPiece> {
  readonly #text: LineText;
  readonly #plan: LinePlan;
  readonly #reader: FieldReader;
  readonly #values: RecordValues;

  readonly #names: HeaderNames;

  constructor(text: LineText, plan: LinePlan, names: HeaderNames) {
    this.#names = names;
    this.#text = text;
    this.#plan = plan;
    this.#reader = new FieldReader(text.bytes, plan.form.dialect);
    this.#values = new RecordValues(plan);
  }

  /** The line that begins at `start`; `line`: lines of the text before it. */
  read(start: number, line: number): Line<ColumnPiece> {
    const { bytes } = this.#text;
    const { comment } = this.#plan.form.dialect;
    let at = start;
    while (this.#reader.isBlank(bytes[at])) at++;
    const isEmpty = at >= bytes.length || bytes[at] === NEWLINE;
    if (isEmpty || (comment >= 0 && bytes[at] === comment)) {
      const newline = bytes.indexOf(NEWLINE, at);
      return { kind: 'none', end: newline < 0 ? bytes.length : newline + 1, lines: 1 };
    }
    return this.#readRecord(start, line);
  }

  #readRecord(start: number, line: number): Line<ColumnPiece> {
    const reader = this.#reader;
    const { bytes } = this.#text;
    const { targets, fields, form } = this.#plan;
    let reason = this.#values.begin();
    reader.begin();
    let lines = 1;
    let field = 0;
    let isHeader = this.#names.size > 1;
    for (let at = start; ; at = reader.end + reader.delimiterBytes) {
      reader.read(at);
      lines += reader.breaks;
      if (reader.isNone) break;
      const target = targets[field];
      isHeader &&= (this.#names.get(field)?.compare(reader.content, reader.from, reader.to) ?? 0) === 0;
      field += 1;
      // Reads no value of a line that is too long: it may be 16 MiB of one value.
      const isLong = reader.end - start > LIMITS.recordBytes;
      const isTaken = target !== undefined && !isLong && reason === undefined && reader.fault === undefined;
      if (isTaken) reason = this.#values.take(target, reader.content, reader.from, reader.to);
      if (reader.end >= bytes.length || bytes[reader.end] === NEWLINE) break;
      if (field === fields && form.hasRest === true) break;
    }
    const newline = bytes.indexOf(NEWLINE, reader.end);
    const end = newline < 0 ? bytes.length : newline + 1;
    const { fault } = reader;
    if (fault?.kind === 'open') return { kind: 'open', at: fault.at };
    if (fault !== undefined) reason = this.#afterQuote(start, fault.at);
    else if (field !== fields) reason = wrongCount(field, fields, lines);
    else if (isHeader) reason = REPEATED_HEADER;
    const nul = bytes.subarray(start, reader.end).indexOf(0);
    if (nul >= 0) reason = `${NUL_REASON}, at character ${nul + 1}`;
    if (end - start > LIMITS.recordBytes) reason = tooLong(end - start);
    const place = { line, start, end };
    if (reason === undefined) return { kind: 'good', end, lines, piece: this.#values.piece(place) };
    return { kind: 'bad', end, lines, bad: badRecord(this.#text, place, reason) };
  }

  #afterQuote(start: number, at: number): string {
    const { bytes } = this.#text;
    const after = bytes.subarray(at, at + AFTER_BYTES);
    const newline = after.indexOf(NEWLINE);
    const shown = quote(after, 0, newline < 0 ? after.length : newline);
    const before = bytes.subarray(start, at);
    const lines = before.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0);
    const where = lines === 0 ? '' : ` of the line that is ${lines} below`;
    return `text follows a closing quote, at character ${before.length - before.lastIndexOf(NEWLINE)}${where}: ${shown}`;
  }
}

const wrongCount = (found: number, expected: number, lines: number): string =>
  `${found} fields, expected ${expected}${lines === 1 ? '' : `; a quoted text extends over ${lines} lines: a quote may be missing`}`;
