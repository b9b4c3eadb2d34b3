import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createClock } from '../../src/host/clock.ts';

const DAY_MS = 86_400_000;

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => vi.useRealTimers());

test('fires once, when the time has gone by', () => {
  const fire = vi.fn();
  createClock().after(100, fire);
  vi.advanceTimersByTime(99);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fire).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1000);
  expect(fire).toHaveBeenCalledTimes(1);
});

test.each([0, -5])('a delay of %d fires later, not inside the call', (delayMs) => {
  const fire = vi.fn();
  createClock().after(delayMs, fire);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(0);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('a timer that Node fires early waits for the rest', () => {
  const fire = vi.fn();
  const before = performance.now();
  createClock().after(10.4, fire);
  vi.advanceTimersByTime(20);
  expect(fire).toHaveBeenCalledTimes(1);
  expect(performance.now() - before).toBeGreaterThanOrEqual(10.4);
});

test('longer than a Node timer can count', () => {
  const fire = vi.fn();
  createClock().after(60 * DAY_MS, fire);
  vi.advanceTimersByTime(59 * DAY_MS);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(DAY_MS);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('cancelled, also twice, it never fires', () => {
  const fire = vi.fn();
  const cancel = createClock().after(60 * DAY_MS, fire);
  vi.advanceTimersByTime(50 * DAY_MS);
  cancel();
  cancel();
  vi.advanceTimersByTime(50 * DAY_MS);
  expect(fire).not.toHaveBeenCalled();
});
