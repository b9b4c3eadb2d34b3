/** What people see of bad records: place, reason, text, what the file looks like, and which setting to change. */
import { expect, test } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { refuseTooManyBad } from '../../src/data/bad-records.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { sparseTask } from './formats/libsvm/sparse-text.ts';

const parsed = (text: string): TaskRecords =>
  sparseTask({ file: 'a.txt', text, labels: { task: 'binary' }, batchSize: 4 });

function refusal(text: string, maxBadRecords = 0): PaddletError {
  try {
    refuseTooManyBad(parsed(text), { format: 'libsvm', maxBadRecords });
  } catch (error) {
    if (error instanceof PaddletError) return error;
    throw error;
  }
  throw new Error('not refused');
}

test('CSV given as libsvm', () => {
  const { code, message, hint } = refusal('5.1,3.5,0\r\n4.9,3.0,1\r\n');
  expect(code).toBe('TooManyBadRecords');
  expect(message).toBe(
    'expected at most 0 bad records in a task (data.maxBadRecords), got 2: ' +
      'a.txt:1: label "5.1,3.5,0" is not +1, -1, 1 or 0, in "5.1,3.5,0"; ' +
      'a.txt:2: label "4.9,3.0,1" is not +1, -1, 1 or 0, in "4.9,3.0,1"; ' +
      'the file seems to be comma-separated values (CSV)',
  );
  expect(hint).toContain('data.format to csv');
});

test('ranking data and regression labels', () => {
  expect(refusal('2 qid:1 1:1\n4 qid:1 2:1\n')).toMatchObject({ hint: expect.stringContaining('qid') });
  expect(refusal('24.5 1:1\n3 2:1\n')).toMatchObject({ hint: expect.stringContaining('model.task') });
});

test('one bad line among good ones: its number, its text, and the setting that allows it', () => {
  const { message, hint } = refusal('1 1:1\n0 7:x 9:1\n1 2:1\n');
  expect(message).toContain('expected at most 0 bad records in a task (data.maxBadRecords), got 1');
  expect(message).toContain('a.txt:2: value "x" of feature "7" is not a finite 32-bit number, in "0 7:x 9:1"');
  expect(hint).toBe('fix the data, or allow more with data.maxBadRecords');
});

test('a long line is cut off, and what is no ASCII is shown as bytes', () => {
  const { message } = refusal(`\u0001${'9'.repeat(1000)} 1:1\n`);
  expect(message).toMatch(/in "\\x019{59}…"$/);
});

test.each([
  ['0\u00a02:1\n', 'label "0\\xc2\\xa02:1"'],
  ['0\u000b2:1\n', 'label "0\\x0b2:1"'],
  ['1 1:1\n\ufeff0 2:1\n', 'a.txt:2: label "\\xef\\xbb\\xbf0"'],
  ['1 1:\u22125\n', 'value "\\xe2\\x88\\x925" of feature "1"'],
])('%j: bytes that are no ASCII are told apart', (text, shown) => {
  const { message } = refusal(text);
  expect(message).toContain(shown);
  expect(message.slice(message.indexOf(', in "'))).toContain('\\x');
});

test('as many as allowed are not refused', () => {
  expect(() => refuseTooManyBad(parsed('x 1:1\n1 1:1\n'), { format: 'libsvm', maxBadRecords: 1 })).not.toThrow();
});
