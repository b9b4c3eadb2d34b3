/** What a second table has that the first one lacks. Pure. */
import type { ColumnFacts, NewValues } from './column-profile.ts';
import type { TableLook } from './table.ts';
import { hasNames } from './table-source.ts';
import { typeOf } from './types.ts';

export interface ColumnDifference {
  readonly name: string;
  readonly newValues: NewValues | undefined;
  /** For numbers and times (ms since 1970): the ranges of both files, if the second range is not within the first. */
  readonly ranges: { readonly of: 'number' | 'time'; readonly first: Range; readonly second: Range } | undefined;
  /** Records without a value, where the first file has none. */
  readonly missing: number;
}

type Range = readonly [min: number, max: number];

export interface TableComparison {
  /** Columns with a difference. */
  readonly columns: readonly ColumnDifference[];
  readonly compared: number;
  readonly onlyFirst: readonly string[];
  readonly onlySecond: readonly string[];
}

export function compareTables(first: TableLook, second: TableLook): TableComparison {
  const isByName = hasNames(first.form) && hasNames(second.form);
  const partnerOf = (facts: ColumnFacts, at: number): ColumnFacts | undefined =>
    isByName ? first.columns.find(({ name }) => name === facts.name) : first.columns[at];
  const pairs = second.columns.flatMap((facts, at) => {
    const partner = partnerOf(facts, at);
    return partner === undefined ? [] : [{ partner, facts }];
  });
  const partners = new Set(pairs.map(({ partner }) => partner));
  return {
    columns: pairs
      .map(({ partner, facts }) => differenceOf(partner, facts))
      .filter(({ newValues, ranges, missing }) => newValues !== undefined || ranges !== undefined || missing > 0),
    compared: pairs.length,
    onlyFirst: first.columns.filter((facts) => !partners.has(facts)).map(({ name }) => name),
    onlySecond: second.columns.filter((facts, at) => partnerOf(facts, at) === undefined).map(({ name }) => name),
  };
}

function differenceOf(first: ColumnFacts, second: ColumnFacts): ColumnDifference {
  const typed = typeOf(first);
  const nothing = { name: first.name, newValues: undefined, ranges: undefined };
  if (typed.type === 'ignore') return { ...nothing, missing: 0 };
  const missing = typed.missing === 0 ? typeOf(second).missing : 0;
  if (typed.type === 'number' || typed.type === 'time') {
    const of = ({ numbers, times }: ColumnFacts) => (typed.type === 'number' ? numbers : times);
    const [a, b] = [of(first), of(second)];
    const isWithin = a === undefined || b === undefined || (b.min >= a.min && b.max <= a.max);
    const ranges = isWithin ? undefined : ({ of: typed.type, first: [a.min, a.max], second: [b.min, b.max] } as const);
    return { ...nothing, ranges, missing };
  }
  const { newValues } = second;
  return { ...nothing, newValues: newValues !== undefined && newValues.records > 0 ? newValues : undefined, missing };
}
