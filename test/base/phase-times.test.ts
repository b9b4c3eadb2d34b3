/** Where the time of a thread goes. */
import { expect, it } from 'vitest';
import { PhaseTimes } from '../../src/base/phase-times.ts';

function counted() {
  let nowMs = 1_000;
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { times: new PhaseTimes({ monotonicMs: () => nowMs }, ['idle', 'pull', 'compute', 'route'] as const), pass };
}

it('each moment counts for one phase, that of now too', () => {
  const { times, pass } = counted();
  pass(5);
  expect(times.enter('pull')).toBe('idle');
  pass(7);
  times.enter('compute');
  pass(11);
  times.enter('pull');
  pass(13);
  expect(times.spentMs()).toEqual({ idle: 5, pull: 20, compute: 11, route: 0 });
  expect(times.spentMs()).toEqual({ idle: 5, pull: 20, compute: 11, route: 0 });
});

it('work interrupts a phase, and work within it that one', () => {
  const { times, pass } = counted();
  times.enter('pull');
  const answer = times.during('route', () => {
    pass(2);
    times.during('compute', () => pass(3));
    pass(4);
    return 'done';
  });
  pass(1);
  expect(answer).toBe('done');
  expect(times.spentMs()).toEqual({ idle: 0, pull: 1, compute: 3, route: 6 });
});

it('work that throws has ended, too', () => {
  const { times, pass } = counted();
  const failing = (): never => {
    pass(2);
    throw new Error('not routed');
  };
  expect(() => times.during('route', failing)).toThrow('not routed');
  pass(1);
  expect(times.spentMs()).toEqual({ idle: 1, pull: 0, compute: 0, route: 2 });
});
