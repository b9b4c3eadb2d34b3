/** Whether the first record of a table has the names of its columns, and what is before its decimals. Pure. */
import { isMissingNumber, numberOf } from './texts.ts';

/** The first text of a column, and the texts below it. */
interface Column {
  readonly first: string;
  readonly below: readonly string[];
}

/** Texts that are names of columns, not values. */
const NAME = /^(?:id|name|label|target|class|date|time|timestamp|text|age|user|item|price|type|value|x|y)$/i;
const DECIMAL_COMMA = /^[+-]?\d+,\d+$/;
/** Values that come again: a name would be among them if it were one. */
const LEAST_REPEATED = 0.5;

export function hasHeader(rows: readonly (readonly string[])[], decimal: '.' | ','): boolean {
  const [first = [], ...below] = rows;
  const isNumber = (text: string): boolean => !Number.isNaN(numberOf(text, decimal));
  const isName = (text: string): boolean => text !== '' && !isNumber(text) && !isMissingNumber(text);
  if (below.length === 0) return first.every(isName);
  const columns = first.map((text, at): Column => ({ first: text, below: below.map((row) => row[at] ?? '') }));
  const numeric = columns.filter(({ below: texts }) => {
    const filled = texts.filter((text) => !isMissingNumber(text));
    return filled.length > 0 && filled.every(isNumber);
  });
  const named = numeric.filter((column) => isName(column.first)).length;
  const numbers = numeric.filter((column) => isNumber(column.first)).length;
  if (named !== numbers) return named > numbers;
  if (named > 0) return false;
  return new Set(first).size === first.length && first.every(isName) && looksNamed(columns);
}

/** Whether the first record has names, for columns without any number. */
function looksNamed(columns: readonly Column[]): boolean {
  if (columns.some(({ first }) => NAME.test(first))) return true;
  const isNew = columns.every(({ first, below }) => !below.includes(first));
  return isNew && columns.some(({ below }) => new Set(below).size <= LEAST_REPEATED * below.length);
}

/** A comma if a column has numbers with one, and no column with a point. */
export function decimalOf(rows: readonly (readonly string[])[], delimiter: string): '.' | ',' {
  if (delimiter === ',') return '.';
  const below = rows.slice(1);
  const width = Math.max(0, ...below.map((row) => row.length));
  const hasCommas = Array.from({ length: width }, (_, at) => below.map((row) => row[at] ?? '')).some((texts) => {
    const filled = texts.filter((text) => !isMissingNumber(text));
    const isAll = filled.every((text) => !Number.isNaN(numberOf(text, ',')));
    return isAll && filled.some((text) => DECIMAL_COMMA.test(text));
  });
  return hasCommas ? ',' : '.';
}
