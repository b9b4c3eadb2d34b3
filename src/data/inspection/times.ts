/** Which format the times of a column have, if they are times. Pure. */
import { type ReadTime, timeReader } from '../columns/time.ts';
import { isMissingNumber, numberOf } from './texts.ts';

const DAYS = ['dd/MM/yyyy', 'MM/dd/yyyy', 'dd.MM.yyyy', 'dd-MM-yyyy', 'MM-dd-yyyy', 'yyyy/MM/dd', 'yyyy.MM.dd'];
const CLOCKS = ['', ' HH:mm', ' HH:mm:ss'];
const TEXTS = ['iso', ...DAYS.flatMap((day) => CLOCKS.map((clock) => `${day}${clock}`))];
/** Formats of whole numbers, which could be anything else. */
const NUMBERS = ['yyyyMMdd', 'yyyyMMddHHmmss', 'unix', 'unixMs'];
const NAME = /time|date|^ts$|_ts$|_at$|^when$|^day$|created|updated/i;
/** 1990 to 2100: numbers outside are probably not times. */
const FIRST_MS = 631_152_000_000;
const LAST_MS = 4_102_444_800_000;
/** Different values in a look: a year or a code has fewer. */
const LEAST_DIFFERENT = 8;

export interface TimeFormat {
  readonly format: string;
  /** Another one that reads the same texts. */
  readonly orElse: string | undefined;
}

/** `texts`: of some records; `name`: of the column, if it has one. Undefined when one of them is not a time. */
export function timeFormatOf(texts: readonly string[], name: string | undefined): TimeFormat | undefined {
  const filled = [...new Set(texts.filter((text) => !isMissingNumber(text)))];
  if (filled.length === 0) return undefined;
  const isOfNumbers = filled.every((text) => !Number.isNaN(numberOf(text, '.')));
  if (isOfNumbers && (name === undefined || !NAME.test(name) || filled.length < LEAST_DIFFERENT)) return undefined;
  const formats = (isOfNumbers ? NUMBERS : TEXTS).filter((format) => {
    const read = timeOf(format);
    return filled.every((text) => {
      const ms = read(text);
      return isOfNumbers ? ms >= FIRST_MS && ms <= LAST_MS : !Number.isNaN(ms);
    });
  });
  const [format, orElse] = formats;
  return format === undefined ? undefined : { format, orElse };
}

/** Ms since 1970 of a text in UTC; NaN when it is not a time. */
export function timeOf(format: string): (text: string) => number {
  const read: ReadTime = timeReader({ format, zone: 'UTC' }, { decimal: '.' });
  return (text) => {
    const bytes = Buffer.from(text, 'latin1');
    return read(bytes, 0, bytes.length);
  };
}
