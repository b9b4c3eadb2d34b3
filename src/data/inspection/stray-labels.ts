/** Texts of a label that are mistakes: one odd text among hundreds is not a class. Pure. */
import type { ColumnFacts, FrequentText } from './column-profile.ts';
import { isMissingText, numberOf } from './texts.ts';

/** Maximum fraction of the records that have them. */
const FEW = 0.01;

/**
 * The facts without such texts: texts among numbers, as a column of numbers has them; and those that come once, where
 * two others remain.
 */
export function withoutStray(facts: ColumnFacts): { facts: ColumnFacts; stray: readonly FrequentText[] } {
  const isNumber = ({ text }: FrequentText): boolean => !Number.isNaN(numberOf(text, '.'));
  const present = facts.top.filter(({ text }) => !isMissingText(text));
  // Further texts are unknown: nothing says which of them are odd.
  const isAll = facts.top.length === facts.distinct;
  const among = (stray: readonly FrequentText[], rest: number, most = Number.POSITIVE_INFINITY): boolean =>
    stray.length > 0 && rest >= 2 && rest <= most && sum(stray) <= FEW * sum(present);
  const texts = present.filter((value) => !isNumber(value));
  const single = present.filter(({ count }) => count === 1);
  const stray =
    isAll && !facts.isList && among(texts, present.length - texts.length)
      ? texts
      : isAll && !facts.isList && among(single, present.length - single.length, 2)
        ? single
        : [];
  if (stray.length === 0) return { facts, stray };
  const numbers = stray.filter(isNumber).length;
  const top = facts.top.filter((value) => !stray.includes(value));
  const isText = top.find((value) => !isMissingText(value.text) && !isNumber(value));
  return {
    stray,
    facts: {
      ...facts,
      records: facts.records - sum(stray),
      numberRecords: facts.numberRecords - numbers,
      wholeRecords: Math.min(facts.wholeRecords, facts.numberRecords - numbers),
      textRecords: facts.textRecords - (sum(stray) - numbers),
      firstText: isText?.text,
      distinct: facts.distinct - stray.length,
      top,
    },
  };
}

const sum = (values: readonly FrequentText[]): number => values.reduce((all, { count }) => all + count, 0);
