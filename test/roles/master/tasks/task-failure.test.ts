/** How a task that cannot be done ends the job: with which code, and what the user is told. */
import { expect, test } from 'vitest';
import type { DiscardedTask } from '../../../../src/core/tasks/state.ts';
import { taskFailure } from '../../../../src/roles/master/tasks/open-service.ts';

const DISCARDED: DiscardedTask = {
  task: 1,
  pass: 0,
  records: 10,
  trainer: 'ann',
  code: 'TooManyBadRecords',
  error: 'a:3: bad',
  hint: 'fix line 3',
  where: 'a records 1 to 10',
};
const { hint: _, ...WITHOUT_HINT } = DISCARDED;

const record = { job: { tasks: { maxDiscarded: 0, maxFailures: 3 } } } as Parameters<typeof taskFailure>[1];

test('bad records: one failure, and the hint of the trainer that read them', () => {
  expect(taskFailure(DISCARDED, record)).toMatchObject({
    code: 'TooManyBadRecords',
    message: 'task 1 (a records 1 to 10) failed on trainer ann: a:3: bad',
    hint: 'fix line 3',
  });
});

test('bad records from a trainer that gives no hint', () => {
  const { hint } = taskFailure(WITHOUT_HINT, record);
  expect(hint).toContain('paddlet doctor');
  expect(hint).not.toContain('maxDiscarded');
});

test('a failure that another attempt might not have', () => {
  expect(taskFailure({ ...WITHOUT_HINT, code: 'OutOfMemory' }, record)).toMatchObject({
    code: 'TaskDiscarded',
    message: 'task 1 (a records 1 to 10) failed more than 3 times, last on trainer ann: a:3: bad',
    hint: 'raise tasks.maxDiscarded (0) to continue without such tasks',
  });
});

test('data that is missing keeps its code and the hint of where it was looked for', () => {
  const missing = { ...DISCARDED, code: 'DataMissing', hint: 'd has a, b' };
  expect(taskFailure(missing, record)).toMatchObject({ code: 'DataMissing', hint: 'd has a, b' });
});

test.each(['DataCacheFailed', 'Data', 'StoreReplaced', 'BadGradient'])(
  '%s does not end the job by that code',
  (code) => {
    expect(taskFailure({ ...WITHOUT_HINT, code }, record).code).toBe('TaskDiscarded');
  },
);
