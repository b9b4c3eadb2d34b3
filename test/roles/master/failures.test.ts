import { expect, it } from 'vitest';
import { Failures } from '../../../src/roles/master/failures.ts';

it('has the latest failure of each trainer, the newest first, until it succeeds or a minute is over', () => {
  let nowMs = 0;
  const failures = new Failures({ monotonicMs: () => nowMs, wallSeconds: () => 0, after: () => () => {} });
  const failed = (trainer: string, task: number, error = 'no such file'): void =>
    failures.failed(trainer, { what: `task ${task}`, code: 'DataMissing', error });
  failed('a', 1);
  nowMs = 1_000;
  failed('a', 2);
  nowMs = 3_000;
  failed('b', 3, 'x'.repeat(1_000));
  nowMs = 4_000;
  expect(failures.list()).toEqual([
    { trainer: 'b', what: 'task 3', code: 'DataMissing', error: 'x'.repeat(300), times: 1, agoMs: 1_000 },
    { trainer: 'a', what: 'task 2', code: 'DataMissing', error: 'no such file', times: 2, agoMs: 3_000 },
  ]);
  failures.succeeded('b');
  expect(failures.list().map(({ trainer }) => trainer)).toEqual(['a']);
  nowMs = 61_001;
  expect(failures.list()).toEqual([]);
});

it('of a lane is overcome when its round is', () => {
  const failures = new Failures({ monotonicMs: () => 0, wallSeconds: () => 0, after: () => () => {} });
  failures.failed('a', { what: 'lane 1 of round 7', round: 7, code: 'OutOfMemory', error: 'no memory' });
  expect(failures.list(7)).toHaveLength(1);
  expect(failures.list(8)).toEqual([]);
});
