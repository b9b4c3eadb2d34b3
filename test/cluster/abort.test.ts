import { expect, test } from 'vitest';
import { abortAfter, onAbort } from '../../src/cluster/abort.ts';
import { FakeClock } from '../store/support.ts';

test('a reaction runs once, even to a signal that has aborted before', () => {
  const stop = new AbortController();
  let reactions = 0;
  onAbort(stop.signal, () => reactions++);
  expect(reactions).toBe(0);
  stop.abort();
  expect(reactions).toBe(1);
  onAbort(stop.signal, () => reactions++);
  expect(reactions).toBe(2);
});

test('a signal aborts after its time, and never when cancelled before', async () => {
  const clock = new FakeClock();
  const late = abortAfter(clock, 1_000);
  const cancelled = abortAfter(clock, 1_000);
  cancelled.cancel();
  await clock.advance(999);
  expect(late.signal.aborted).toBe(false);
  await clock.advance(1);
  expect([late.signal.aborted, cancelled.signal.aborted]).toEqual([true, false]);
});
