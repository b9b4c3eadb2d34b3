/** The error for too many bad records: shows the first ones, what the file looks like, and what to change. */
import { PaddletError } from '../base/errors.ts';
import { appearanceOf } from './appearance.ts';
import { shownBytes } from './formats/libsvm/ascii.ts';
import type { BadRecord, TaskRecords } from './source.ts';

const SHOWN_RECORDS = 3;
const SHOWN_CHARACTERS = 60;

export interface BadRecordsRule {
  readonly maxBadRecords: number;
}

/** Throws `TooManyBadRecords`. */
export function refuseTooManyBad({ bad }: Pick<TaskRecords, 'bad'>, { maxBadRecords }: BadRecordsRule): void {
  if (bad.length <= maxBadRecords) return;
  throw tooManyBad(bad, `${bad.length} bad records in one task, data.maxBadRecords is ${maxBadRecords}`);
}

/** `bad` is not empty. */
export function tooManyBad(bad: readonly BadRecord[], howMany: string): PaddletError {
  const shown = bad.slice(0, SHOWN_RECORDS).map(describeBad);
  const lines = bad.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const appearance = appearanceOf(lines);
  const looksLike = appearance === undefined ? '' : `; it looks like ${appearance.what}`;
  return new PaddletError('TooManyBadRecords', `${howMany}: ${shown.join('; ')}${looksLike}`, {
    hint: appearance?.hint ?? 'fix the data, or allow more with data.maxBadRecords',
  });
}

/** `file:line: reason, in "text"`. */
export function describeBad({ file, line, reason, text }: BadRecord): string {
  return `${file}:${line}: ${reason}${text === undefined ? '' : `, in ${shorten(text)}`}`;
}

function shorten(text: string): string {
  const cut = shownBytes(text.slice(0, SHOWN_CHARACTERS));
  return `"${cut}${text.length > SHOWN_CHARACTERS ? '…' : ''}"`;
}
