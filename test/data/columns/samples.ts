/** Columns, pieces and statistics for tests, with the usual settings. */
import type {
  CategoryColumn,
  Column,
  CrossColumn,
  Dialect,
  ListColumn,
  NumberColumn,
  SingleColumn,
} from '../../../src/data/columns/column.ts';
import { slotsOf } from '../../../src/data/columns/column.ts';
import { type ColumnPiece, emptyRecord, type OneRecord, pieceOf } from '../../../src/data/columns/piece.ts';
import { type NumberStatistics, StatisticsBuilder } from '../../../src/data/columns/statistics.ts';

export const CSV: Dialect = { header: true, delimiter: ',', quote: '"', missing: [''], decimal: '.' };

export const LABEL: Column = { name: 'label', type: 'label' };

export const number = (name: string, more: Partial<NumberColumn> = {}): NumberColumn => ({
  name,
  type: 'number',
  normalize: 'none',
  missing: 'mean',
  ...more,
});

export const category = (name: string, more: Partial<SingleColumn> = {}): SingleColumn => ({
  name,
  type: 'category',
  ids: 'hash',
  ...more,
});

export const list = (name: string, more: Partial<ListColumn> = {}): ListColumn => ({
  name,
  type: 'categories',
  separator: '|',
  maxLength: 1024,
  ids: 'hash',
  ...more,
});

export const cross = (name: string, of: string[], buckets?: number): CrossColumn => ({
  name,
  type: 'cross',
  of,
  buckets,
});

/** Of numbers that are cut into pieces of these sizes, over and over. */
export function statisticsOf(
  columns: readonly NumberColumn[],
  values: readonly (readonly number[])[],
  sizes: readonly number[] = [values[0]!.length],
): NumberStatistics[] {
  const builder = new StatisticsBuilder({ numbers: columns });
  const all = values.map((of) => Float32Array.from(of));
  const records = all[0]!.length;
  for (let from = 0, turn = 0; from < records; turn++) {
    const to = Math.min(records, from + sizes[turn % sizes.length]!);
    builder.add({ records: to - from, numbers: all.map((of) => of.subarray(from, to)) });
    from = to;
  }
  return builder.finish();
}

/** A record by the names of its columns: numbers, ids of categories, lists of ids. */
export type Sample = Readonly<Record<string, number | bigint | readonly bigint[]>>;

/** One record; what it lacks is a missing number, or no id. */
export function pieceWith(columns: readonly Column[], sample: Sample): ColumnPiece {
  const slots = slotsOf(columns);
  const record: OneRecord = emptyRecord(slots);
  slots.numbers.forEach(({ name }, slot) => {
    record.numbers[slot] = (sample[name] as number | undefined) ?? Number.NaN;
  });
  slots.single.forEach(({ name }, slot) => {
    record.single.set(halves([sample[name] as bigint]), 2 * slot);
  });
  slots.lists.forEach(({ name }: CategoryColumn, slot) => {
    record.lists[slot]!.push(...halves((sample[name] as bigint[] | undefined) ?? []));
  });
  return pieceOf(record, { weights: false, groups: false }, { line: 0, start: 0, end: 1 });
}

export const halves = (ids: readonly bigint[]): number[] =>
  ids.flatMap((id) => [Number(id & 0xffffffffn), Number(id >> 32n)]);

/** The ids that u32 halves are. */
export const idsOf = (all: Uint32Array): bigint[] =>
  Array.from({ length: all.length / 2 }, (_, at) => (BigInt(all[2 * at + 1]!) << 32n) | BigInt(all[2 * at]!));
