/** Whether the texts of a column are lists, and what separates their values. Pure. */
import { isMissingText } from './texts.ts';

const SEPARATORS = ['|', ';', ',', ' '];
/** Minimum fraction of the texts that have several values. */
const LEAST_LISTS = 0.3;
/** Words of a name are separated by blanks, too: lists have more values, and two lists are rarely the same. */
const LEAST_BLANK_LISTS = 0.8;
const LEAST_DIFFERENT = 0.5;
const LEAST_TEXTS = 4;
/** Minimum number of different lists that a value is in, on average. */
const LEAST_SHARED = 1.5;

/**
 * Lists have different lengths, and share values with other lists. `texts`: those of some records; `delimiter`: that of
 * the fields.
 */
export function separatorOf(texts: readonly string[], delimiter: string): string | undefined {
  const filled = texts.filter((text) => !isMissingText(text));
  if (filled.length < LEAST_TEXTS) return undefined;
  const different = new Set(filled).size;
  return SEPARATORS.find((separator) => {
    if (separator === delimiter) return false;
    const lists = filled.map((text) => text.split(separator).map((value) => value.trim()));
    if (lists.some((values) => values.includes(''))) return false;
    const several = lists.filter((values) => values.length > 1).length / filled.length;
    const isOneOfSome = new Set(lists.map(({ length }) => length)).size > 1 && areShared(filled, separator);
    if (separator !== ' ') return several >= LEAST_LISTS && isOneOfSome;
    return several >= LEAST_BLANK_LISTS && isOneOfSome && different >= LEAST_DIFFERENT * filled.length;
  });
}

function areShared(texts: readonly string[], separator: string): boolean {
  const lists = [...new Set(texts)].map((text) => new Set(text.split(separator).map((value) => value.trim())));
  const values = lists.flatMap((list) => [...list]);
  return values.length >= LEAST_SHARED * new Set(values).size;
}
