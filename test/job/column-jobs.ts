/** Jobs with columns, and what is said of wrong ones. */
import { expect } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { columnSpecOf } from '../../src/job/schema.ts';

export interface How {
  readonly csv?: string;
  readonly model?: string;
  readonly format?: string;
  readonly data?: string;
}

/** Lines of `columns` begin at line 7, with four blanks. */
export const job = (columns: string, { csv, model = '{ type: lr }', format = 'csv', data = 'test: b.csv' }: How = {}) =>
  `name: a\nmodel: ${model}\ndata: { format: ${format}, train: a.csv, ${data},\n  ${csv === undefined && format === 'jsonl' ? 'missing: [""]' : `csv: ${csv ?? '{}'}`},\n  columns: {\n${columns
    .split('\n')
    .map((line) => `    ${line}`)
    .join(',\n')}\n  } }\n`;

export const specOf = (columns: string, how?: How) => columnSpecOf(parseJobFile('job.yaml', job(columns, how)))!;

export function complaint(text: string): string {
  try {
    parseJobFile('job.yaml', text);
  } catch (error) {
    if (!(error instanceof PaddletError)) throw error;
    expect(error.code).toBe('JobInvalid');
    return error.message.replaceAll('job.yaml:', '');
  }
  throw new Error('expected an error');
}

export const complaintOf = (columns: string, how?: How): string => complaint(job(columns, how));

export const TYPES = 'number, category, categories, label, weight, group, time, ignore';
