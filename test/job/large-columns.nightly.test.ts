/** A job file with more columns than any data file has. */
import { expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { complaintOf } from './column-jobs.ts';

test('is refused with both numbers', () => {
  const columns = `y: label\n${Array.from({ length: LIMITS.columns }, (_, at) => `x${at}: number`).join('\n')}`;
  const message = `5:12: data.columns: expected at most ${LIMITS.columns} columns, got ${LIMITS.columns + 1}`;
  expect(complaintOf(columns)).toBe(message);
});
