import { expect, it } from 'vitest';
import { AnswerTimes, isAnsweredAtOnce } from '../../../src/cluster/client/answer-times.ts';

let nowMs = 0;
/** Of this thread, before. */
let busyMs = 0;
const clock = { monotonicMs: () => nowMs, idleMs: () => nowMs - busyMs };
const at = (ms: number): void => {
  nowMs = ms;
};

it('is the mean of the latest answers, and the age of the oldest request without one, by pserver', () => {
  at(0);
  const times = new AnswerTimes(clock);
  const first = times.asked(0);
  at(8);
  times.answered(0, first);
  const second = times.asked(0);
  at(24);
  times.answered(0, second);
  expect(times.of([0, 1])).toEqual([{ index: 0, meanMs: 9, waitedMs: 0 }]);

  const oldest = times.asked(1);
  at(30);
  times.asked(1);
  at(34);
  expect(times.of([0, 1])).toEqual([
    { index: 0, meanMs: 9, waitedMs: 0 },
    { index: 1, meanMs: 10, waitedMs: 10 },
  ]);
  // What failed says nothing of how long an answer takes.
  times.failed(1, oldest);
  expect(times.of([1])).toEqual([{ index: 1, meanMs: 4, waitedMs: 4 }]);
});

it('is without what was long ago, and without the time in which this thread was busy', () => {
  at(0);
  const times = new AnswerTimes(clock);
  const request = times.asked(0);
  at(2_000);
  busyMs += 1_990;
  times.answered(0, request);
  expect(times.of([0])).toEqual([{ index: 0, meanMs: 10, waitedMs: 0 }]);
  at(12_000);
  expect(times.of([0])).toHaveLength(1);
  at(12_001);
  expect(times.of([0])).toEqual([]);
  busyMs = 0;
});

it('leaves out requests that wait for other trainers', () => {
  expect(isAnsweredAtOnce('push', {})).toBe(true);
  expect(isAnsweredAtOnce('pull', {})).toBe(true);
  expect(isAnsweredAtOnce('pull', { hold: { trainer: 'a', pushes: 1 } })).toBe(false);
  expect(isAnsweredAtOnce('pullVersion', {})).toBe(false);
});
