/** What type a column has, and why: the rules that an engineer would go by who looks at it. Pure. */
import type { ColumnFacts, FrequentText } from './column-profile.ts';
import { isMissingText } from './texts.ts';

export interface TypedColumn {
  readonly type: 'number' | 'category' | 'categories' | 'time' | 'ignore';
  /** The reason in a few words. */
  readonly why: string;
  /** Its values name things: numbers among them are not quantities. */
  readonly isCode: boolean;
  /** Its numbers are far from even: their parts by quantiles say more. */
  readonly isSkewed: boolean;
  /** Its numbers are written in a way that paddlet does not read. */
  readonly isOtherNumber: boolean;
  /** Texts of it that mean that there is no value. */
  readonly missingTexts: readonly FrequentText[];
  /** Records without a value, the empty text included. */
  readonly missing: number;
  /** Records whose text is not of the type: they would be bad. */
  readonly bad: number;
  /** Different values, and the most frequent ones. */
  readonly distinct: number;
  readonly top: readonly FrequentText[];
}

/** Whole numbers of so few values are codes. */
const FEW = 20;
/** A value of a category comes so often, on average. */
const LEAST_REPEATED = 5;
/** Columns of fewer records say nothing of ids. */
const LEAST_RECORDS = 100;
/** Minimum fraction of distinct values among the records that have a value. */
const ALL_DIFFERENT = 0.95;
const LONG_TEXT = 40;
/** In a column of numbers, at most this fraction of texts counts as mistakes. */
const FEW_TEXTS = 0.01;
/** Numbers that no f32 tells apart. */
const LARGEST_NUMBER = 2 ** 53;
/** Numbers that a column cannot be read as, among plain ones: below 1000 both forms look the same. */
const OTHER_NUMBERS = [
  [/^[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,3})(?:\.\d+)?$/, 'commas between thousands: write 1234 for 1,234'],
  [/^[+-]?\d+(?:,\d+)?$/, 'decimal commas: write 1.5 for 1,5'],
  [/^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d{1,3})(?:,\d+)?$/, 'points between thousands: write 1234 for 1.234'],
  [/^[+-]?(?:\d{1,3}(?: \d{3})+|\d{1,3})(?:[.,]\d+)?$/, 'blanks between thousands: write 1234 for 1 234'],
] as const;
const ID_NAME = /(?:^|[_\s.-])(?:id|uuid|guid|key|index|idx|no|nr)$|(?:^|\.)(?:id|index|row)|[a-z]I[dD]$/;
const CODE_NAME = /(?:code|zip|postal|phone)/i;
/** Deviations from the mean to the largest or the smallest: an even column has 2. */
const SKEWED = 10;

export function typeOf(facts: ColumnFacts): TypedColumn {
  const { records, empty, numberRecords, textRecords, timeRecords, missingTexts } = facts;
  const areNumbers = textRecords === 0 && numberRecords > 0;
  // Among times, as among numbers, a dash is not a value.
  const isOfValues = areNumbers || (timeRecords > 0 && timeRecords === numberRecords + textRecords);
  const noValues = facts.isList ? [] : missingTexts.filter(({ text }) => isOfValues || isMissingText(text));
  const missing = empty + noValues.reduce((sum, { count }) => sum + count, 0);
  const present = records - missing;
  const distinct = Math.max(0, facts.distinct - noValues.length);
  const top = facts.top.filter(({ text }) => noValues.every((other) => other.text !== text));
  const base = {
    missingTexts: noValues,
    missing,
    bad: 0,
    isCode: false,
    isSkewed: false,
    isOtherNumber: false,
    distinct,
    top,
  };
  if (facts.unreadable !== undefined) return { ...base, missing: 0, type: 'ignore', why: facts.unreadable };
  if (present === 0) return { ...base, type: 'ignore', why: 'no record has a value' };
  if (distinct === 1 && missing === 0) return { ...base, type: 'ignore', why: 'all values are the same' };
  if (facts.isId)
    return {
      ...base,
      type: 'category',
      isCode: true,
      why: 'ids: the first two fields of interactions are a user and an item',
    };
  if (facts.isList) return { ...base, type: 'categories', why: 'lists' };
  if (timeRecords === present) return { ...base, type: 'time', why: `times of format ${facts.time}` };
  if (areNumbers) return { ...base, ...numberType(facts, present, distinct) };
  return { ...base, ...textType(facts, present, distinct) };
}

type Decision = Pick<TypedColumn, 'type' | 'why'> & Partial<TypedColumn>;

function numberType(facts: ColumnFacts, present: number, distinct: number): Decision {
  const { name, numbers, wholeRecords, hasLeadingZero, isAscending } = facts;
  const areWhole = wholeRecords === present;
  const areDifferent = present >= LEAST_RECORDS && distinct >= ALL_DIFFERENT * present;
  if (areWhole && areDifferent && (isAscending || ID_NAME.test(name))) {
    return { type: 'ignore', why: 'each record has its own number, as ids have' };
  }
  if (hasLeadingZero) return { type: 'category', isCode: true, why: 'codes: some begin with 0' };
  if (areWhole && Math.max(-numbers!.min, numbers!.max) >= LARGEST_NUMBER) {
    return { type: 'category', isCode: true, why: 'whole numbers too large to be quantities' };
  }
  if (areWhole && (ID_NAME.test(name) || CODE_NAME.test(name))) {
    return { type: 'category', isCode: true, why: 'whole numbers, by its name ids or codes' };
  }
  if (areWhole && distinct <= FEW && present >= LEAST_REPEATED * distinct) {
    return { type: 'category', why: `${distinct} different whole numbers` };
  }
  const { mean, deviation, min, max } = numbers!;
  const isSkewed = Math.max(max - mean, mean - min) > SKEWED * deviation;
  return { type: 'number', why: isSkewed ? 'numbers, most of them close together' : 'numbers', isSkewed };
}

function textType(facts: ColumnFacts, present: number, distinct: number): Decision {
  const { separator, meanLength, numberRecords, textRecords, firstText, top } = facts;
  if (separator !== undefined) return { type: 'categories', why: `lists, separated by ${JSON.stringify(separator)}` };
  const texts = `${textRecords} texts such as ${JSON.stringify(firstText ?? '')}`;
  if (textRecords <= FEW_TEXTS * present) return { type: 'number', bad: textRecords, why: `numbers, except ${texts}` };
  const other = OTHER_NUMBERS.find(([pattern]) =>
    [firstText ?? '', ...top.map(({ text }) => text)].every((text) => pattern.test(text)),
  );
  if (other !== undefined) {
    return {
      type: 'ignore',
      why: `numbers such as ${JSON.stringify(firstText)}, with ${other[1]}`,
      isOtherNumber: true,
    };
  }
  const areDifferent = present >= LEAST_RECORDS && distinct >= ALL_DIFFERENT * present;
  if (areDifferent) {
    const why = meanLength > LONG_TEXT ? 'long texts, nearly all unique' : 'nearly every record has its own text';
    return { type: 'ignore', why };
  }
  return { type: 'category', why: numberRecords > textRecords ? `numbers, and ${texts}` : 'texts' };
}
