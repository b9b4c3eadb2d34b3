/** The error for too many bad records: shows the first ones, what the file looks like, and what to change. */
import { PaddletError } from '../base/errors.ts';
import { appearanceOf, otherThanRecords } from './appearance.ts';
import { shownBytes } from './ascii.ts';
import type { BadRecord } from './bad-record.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import type { TaskRecords } from './source.ts';

const SHOWN_RECORDS = 3;
const SHOWN_FILES = 8;
const SHOWN_CHARACTERS = 60;

export interface BadRecordsRule {
  readonly format: DataFormat;
  readonly maxBadRecords: number;
}

/** Throws `TooManyBadRecords`. */
export function refuseTooManyBad({ bad }: Pick<TaskRecords, 'bad'>, { format, maxBadRecords }: BadRecordsRule): void {
  if (bad.length <= maxBadRecords) return;
  throw tooManyBad(
    bad,
    `expected at most ${maxBadRecords} bad records in a task (data.maxBadRecords), got ${bad.length}`,
    format,
  );
}

/** `bad` is not empty. */
export function tooManyBad(bad: readonly BadRecord[], howMany: string, format: DataFormat): PaddletError {
  const { shown, hint = 'fix the data, or allow more with data.maxBadRecords' } = explain(bad, format);
  return new PaddletError('TooManyBadRecords', `${howMany}: ${shown}`, { hint });
}

/** `what` says where there is none; `bad` may be empty. The hint is `otherwise` when it looks like nothing known. */
export function noneGood(bad: readonly BadRecord[], what: string, format: DataFormat, otherwise: string): PaddletError {
  const { shown, hint = otherwise } = explain(bad, format);
  return new PaddletError('DataInvalid', shown === '' ? what : `${what}: ${shown}`, { hint });
}

/** The error for files whose records were all read. */
export const noGoodRecord = (paths: readonly string[], bad: readonly BadRecord[], format: DataFormat): PaddletError => {
  const more = paths.length > SHOWN_FILES ? ` and ${paths.length - SHOWN_FILES} other files` : '';
  const what = `no good records in ${paths.slice(0, SHOWN_FILES).join(', ')}${more}`;
  const { input, placing } = formatOf(format);
  const ofColumns = placing === 'position' ? 'data.columns and data.csv' : 'data.columns';
  const compared = input === 'columns' ? ofColumns : 'data.format';
  return noneGood(bad, what, format, `compare the files with ${compared}, and their labels with model.task`);
};

/** The first ones and what they look like; the hint for that. */
function explain(bad: readonly BadRecord[], format: DataFormat): { shown: string; hint?: string } {
  const shown = bad.slice(0, SHOWN_RECORDS).map(describeBad).join('; ');
  const texts = bad.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const { input, hasFields } = formatOf(format);
  const appearance = input === 'columns' ? otherThanRecords(texts) : appearanceOf(texts, hasFields);
  if (appearance === undefined) return { shown };
  return { shown: `${shown}; the file seems to be ${appearance.what}`, hint: appearance.hint };
}

/** `file:line: reason, in "text"`. */
export function describeBad({ file, line, reason, text }: BadRecord): string {
  return `${file}:${line}: ${reason}${text === undefined ? '' : `, in ${shorten(text)}`}`;
}

function shorten(text: string): string {
  const cut = shownBytes(text.slice(0, SHOWN_CHARACTERS));
  return `"${cut}${text.length > SHOWN_CHARACTERS ? '…' : ''}"`;
}
