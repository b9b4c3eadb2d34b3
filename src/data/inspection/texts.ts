/** What single texts of a table may be. They are bytes as Latin-1: short of a key, and shown by `shownText`. */
import { parseDecimal } from '../ascii.ts';

const POINT = '.';

/** The number of a text: `1.5`, or with a decimal comma `1,5`. NaN if the text is not a number. */
export function numberOf(text: string, decimal: '.' | ','): number {
  if (decimal === ',' && text.includes(POINT)) return Number.NaN;
  const bytes = Buffer.from(decimal === ',' ? text.replace(',', POINT) : text, 'latin1');
  return parseDecimal(bytes, 0, bytes.length);
}

/** Usual texts for "no value" in any column. */
const MISSING = ['?', 'NA', 'N/A', 'n/a', 'NULL', 'null', 'NaN', 'nan', '\\N', '<NA>', '#N/A'];
/** Texts that mean a missing number; in a column of texts they may be values. */
const MISSING_NUMBERS = ['-', '--', '.', 'None', 'none', 'na'];

/** Texts that may mean that there is no value, beside the empty one. */
export const MISSING_TEXTS: ReadonlySet<string> = new Set([...MISSING, ...MISSING_NUMBERS]);

export const isMissingNumber = (text: string): boolean => text === '' || MISSING_TEXTS.has(text);
export const isMissingText = (text: string): boolean => text === '' || MISSING.includes(text);

/** The last key of a column's name, which may have other keys before it. */
export const lastKey = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The text as people see it. */
export const shownText = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');
