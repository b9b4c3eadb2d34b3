/** CSV text as `readText` reads it by the kernel, against the plain form alone. */
import { expect } from 'vitest';
import type { BadRecord } from '../../../../src/data/bad-record.ts';
import type { ColumnSpec, FieldColumn } from '../../../../src/data/columns/column.ts';
import type { ColumnPiece } from '../../../../src/data/columns/piece.ts';
import { csvForm } from '../../../../src/data/formats/csv/format.ts';
import { columnReading } from '../../../../src/data/formats/text/columns.ts';
import { planFor } from '../../../../src/data/formats/text/form.ts';
import type { Line, LineText } from '../../../../src/data/formats/text/lines.ts';
import type { LinePlan } from '../../../../src/data/formats/text/plan.ts';
import { type ReadText, readText } from '../../../../src/data/formats/text/read-text.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import type { BadPlace, PieceSink } from '../../../../src/data/piece.ts';
import type { FileLayout } from '../../../../src/data/source.ts';

const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.slice().buffer);

/** All that is known of one record, its floats as bits. */
function recordOf(piece: ColumnPiece, at: number): unknown {
  const halves = (ids: Uint32Array, place = at): number[] => [...ids.subarray(2 * place, 2 * place + 2)];
  return {
    label: bits(piece.labels)[at],
    weight: piece.weights && bits(piece.weights)[at],
    group: piece.groups && halves(piece.groups),
    numbers: piece.numbers.map((values) => bits(values)[at]),
    single: piece.single.map((ids) => halves(ids)),
    lists: piece.lists.map(({ starts, ends }) => [...piece.listIds.subarray(2 * starts[at]!, 2 * ends[at]!)]),
    texts: piece.texts.map(({ starts, ends }) =>
      Buffer.from(piece.bytes.subarray(starts[at], ends[at])).toString('hex'),
    ),
    time: piece.times?.[at],
    line: piece.lines[at],
    start: piece.starts[at],
    end: piece.ends[at],
  };
}

export class Records implements PieceSink<ColumnPiece> {
  readonly records: unknown[] = [];
  readonly bads: { record: BadRecord; start: number; end: number }[] = [];
  readonly #room: number;
  readonly #atOnce: number;
  readonly #firstLine: number;

  constructor(room: number, atOnce: number, firstLine = FIRST_LINE) {
    this.#room = room;
    this.#atOnce = atOnce;
    this.#firstLine = firstLine;
  }

  get quota(): number {
    return Math.min(this.#room - this.records.length, this.#atOnce);
  }

  get badRecords(): number {
    return this.bads.length;
  }

  add(piece: ColumnPiece, firstLine: number): void {
    expect(firstLine).toBe(this.#firstLine);
    expect(piece.records).toBeLessThanOrEqual(this.quota);
    for (let at = 0; at < piece.records; at++) this.records.push(recordOf(piece, at));
  }

  bad(record: BadRecord, { start, end }: BadPlace): void {
    this.bads.push({ record, start, end });
  }
}

export const FIRST_LINE = 11;
const SHOWN_RECORDS = 8;
export const ALL = 1e9;

export const textOf = (bytes: Uint8Array): LineText => ({ file: 'f.csv', bytes, offset: 1000, firstLine: FIRST_LINE });

/** What a record without a time is. */
function untimed(
  { bytes, offset }: LineText,
  { times }: LinePlan,
  { piece }: Line<ColumnPiece> & { kind: 'good' },
  lines: number,
): BadRecord {
  const [start, end] = [piece.starts[0]!, piece.ends[0]!];
  const shown = Buffer.from(bytes.subarray(start, Math.min(end, start + 4096))).toString('latin1');
  const place = { file: 'f.csv', line: FIRST_LINE + lines, byteOffset: offset + start };
  return { ...place, reason: times!.faultOf(piece, 0), text: shown.trimEnd() };
}

/** The same by the plain form alone. */
function readPlainly(text: LineText, plan: LinePlan, into: Records): ReadText {
  const reader = plan.form.reader(text, plan);
  let lines = 0;
  let at = 0;
  while (at < text.bytes.length) {
    const line = reader.read(at, lines);
    if (line.kind !== 'none' && into.quota === 0) return { bytes: at, lines, isFull: true };
    if (line.kind === 'open') return { bytes: at, lines, isFull: false, openQuote: line.at };
    const times = line.kind === 'good' ? plan.times?.of(line.piece) : undefined;
    const isTimed = times === undefined || !Number.isNaN(times[0]!);
    if (line.kind === 'good' && isTimed) into.add({ ...line.piece, times }, FIRST_LINE);
    else if (line.kind !== 'none') {
      const { text: shown, ...rest } = line.kind === 'bad' ? line.bad : untimed(text, plan, line, lines);
      into.bad(into.badRecords < SHOWN_RECORDS ? { ...rest, text: shown! } : rest, { start: at, end: line.end });
    }
    lines += line.lines;
    at = line.end;
  }
  return { bytes: at, lines, isFull: false };
}

export function expectSame(bytes: Uint8Array, plan: LinePlan, room = ALL, atOnce = ALL): Records {
  const [got, expected] = [new Records(room, atOnce), new Records(room, atOnce)];
  const result = readText(textOf(bytes), columnReading(plan), got);
  expect(result).toEqual(readPlainly(textOf(bytes), plan, expected));
  expect(got.records).toEqual(expected.records);
  expect(got.bads).toEqual(expected.bads);
  return got;
}

export const DIALECT = { header: false, delimiter: ',', quote: '"', missing: [''], decimal: '.' } as const;
export type Dialects = ColumnSpec['dialect'];

/** Of lines of CSV. */
export const csvPlan = (spec: ColumnSpec, layout: FileLayout, rule: LabelRule, path: string): LinePlan =>
  planFor(csvForm, spec, layout, rule, path);

export function plan(
  columns: FieldColumn[],
  dialect: Partial<Dialects> = {},
  rule: LabelRule = { task: 'regression' },
) {
  const positions = columns.map((_, at) => at);
  return csvPlan(
    { columns, dialect: { ...DIALECT, ...dialect } },
    { fields: columns.length, positions },
    rule,
    'f.csv',
  );
}

export const number = (name: string, missing: 'mean' | 'error' = 'mean'): FieldColumn => ({
  name,
  type: 'number',
  normalize: 'none',
  missing,
});
export const category = (name: string): FieldColumn => ({ name, type: 'category', ids: 'hash' });
export const label: FieldColumn = { name: 'label', type: 'label' };
