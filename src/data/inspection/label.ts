/**
 * Which column of a table is the label, and which of its values are positive: a guess, which is always reported. Pure.
 */
import type { ColumnFacts, FrequentText } from './column-profile.ts';
import { withoutStray } from './stray-labels.ts';
import { lastKey } from './texts.ts';
import { typeOf } from './types.ts';

export interface LabelGuess {
  /** Index of the column. */
  readonly column: number;
  readonly why: string;
}

/** Usual names, the surest first. */
const NAMES = [
  /^(?:label|target|labels|is_?click(?:ed)?|click(?:ed)?)$/i,
  /^(?:class|y|outcome|response|survived|churn(?:ed)?|converted|conversion|is_?fraud|fraud|default(?:ed)?)$/i,
  /^(?:income|quality|species|diagnosis|purchase[d]?|bought|approved|spam|is_?spam|subscribed|exited)$/i,
  /(?:^|_)(?:label|target|class)$/i,
];
/** Name of a label, if no other column looks like a label with two values. */
const RATING = /(?:^|_)(?:rating|stars)$/i;
/** Limits for a column without a usual name: number of distinct values, and mean number of records of each. */
const CLASSES = 100;
const RECORDS_OF_CLASS = 5;
const POSITIVE = /^(?:1|\+1|1\.0|yes|y|true|t|positive|pos|p|clicked|click|spam|fraud|good|malignant|m)$/i;
const NEGATIVE = /^(?:0|-1|0\.0|no|n|false|f|negative|neg|ham|bad|benign|b)$/i;

export function labelOf(facts: readonly ColumnFacts[]): LabelGuess | undefined {
  const columns = facts.map((column) => ({
    name: column.name,
    records: column.records,
    // A list is not a label.
    distinct: column.isList ? 0 : typeOf(withoutStray(column).facts).distinct,
  }));
  for (const name of NAMES) {
    const isNamed = (wanted: (name: string) => string) =>
      columns.findIndex((named) => name.test(wanted(named.name)) && named.distinct > 1);
    const [whole, nested] = [isNamed((own) => own), isNamed(lastKey)];
    if (Math.max(whole, nested) >= 0) return { column: whole >= 0 ? whole : nested, why: 'by its name' };
  }
  const possible = labelColumns(facts);
  const last = facts.findLastIndex((column) => possible.includes(column));
  const first = facts.findIndex((column) => possible.includes(column));
  const placeOf = (where: string): string =>
    facts.some(({ isId }) => isId) ? 'a column after user and item' : `the ${where} column`;
  for (const [column, where] of [
    [last, 'last'],
    [first, 'first'],
  ] as const) {
    if (columns[column]?.distinct === 2) return { column, why: `${placeOf(where)}, with two values` };
  }
  const rating = columns.findIndex(({ name, distinct }) => RATING.test(lastKey(name)) && distinct > 1);
  if (rating >= 0) return { column: rating, why: 'by its name' };
  for (const [column, where] of [
    [last, 'last'],
    [first, 'first'],
  ] as const) {
    const { distinct = 0, records = 0 } = columns[column] ?? {};
    if (distinct >= 2 && distinct <= CLASSES && records >= RECORDS_OF_CLASS * distinct) {
      return { column, why: `${placeOf(where)}, with ${distinct} values` };
    }
  }
  return undefined;
}

/** Those that may be the label. Interactions have one only if there is more than a user, an item and times. */
export function labelColumns(facts: readonly ColumnFacts[]): ColumnFacts[] {
  const areInteractions = facts.some(({ isId }) => isId);
  return facts.filter((column) => {
    if (column.unreadable !== undefined || column.isId) return false;
    return !areInteractions || !['time', 'ignore'].includes(typeOf(column).type);
  });
}

/** As `yes` and `no`: the case of their letters means nothing. */
export const isTwoWords = ([a, b]: readonly FrequentText[]): boolean =>
  a !== undefined &&
  b !== undefined &&
  ((POSITIVE.test(a.text) && NEGATIVE.test(b.text)) || (NEGATIVE.test(a.text) && POSITIVE.test(b.text)));

export interface TwoLabels {
  readonly positive: string;
  readonly negative: string;
  readonly why: string;
}

/** Which value of a label with two values is the positive one. */
export function positiveOf([a, b]: readonly FrequentText[]): TwoLabels | undefined {
  if (a === undefined || b === undefined) return undefined;
  const isFirst = POSITIVE.test(a.text) && !POSITIVE.test(b.text);
  const isSecond = POSITIVE.test(b.text) && !POSITIVE.test(a.text);
  const byOther = NEGATIVE.test(a.text) !== NEGATIVE.test(b.text);
  if (isFirst) return { positive: a.text, negative: b.text, why: 'by its text' };
  if (isSecond) return { positive: b.text, negative: a.text, why: 'by its text' };
  if (byOther) {
    const [negative, positive] = NEGATIVE.test(a.text) ? [a.text, b.text] : [b.text, a.text];
    return { positive, negative, why: 'by the text of the other' };
  }
  const [rarer, other] = a.count <= b.count ? [a.text, b.text] : [b.text, a.text];
  return { positive: rarer, negative: other, why: 'the rarer one' };
}
