/** What is counted of the exchange that ends a round. */
import { beforeEach, expect, it } from 'vitest';
import { ExchangeTimes } from '../../../../src/roles/trainer/rounds/exchange-times.ts';
import { FakeClock } from '../../../store/support.ts';

let clock: FakeClock;
let counted: Record<string, number>;
let times: ExchangeTimes;

beforeEach(() => {
  clock = new FakeClock();
  counted = {};
  times = new ExchangeTimes(clock, {
    answered: (kind, tookMs) => {
      counted[kind] = tookMs;
    },
  });
});

it('the wait for lanes of others is no part of the pull', () => {
  times.begin();
  clock.jump(10);
  times.delivered();
  clock.jump(70);
  times.reached(0);
  clock.jump(20);
  // The last to answer is what was waited for.
  times.reached(75);
  times.end(3);
  expect(counted).toEqual({ push: 10, pull: 25, barrier: 100 });
});

it('the version may be there before the acknowledgements are', () => {
  times.begin();
  clock.jump(10);
  times.reached(4);
  times.end(1);
  expect(counted).toEqual({ push: 10, pull: 6, barrier: 10 });
});

it('without lanes there is a pull only', () => {
  times.begin();
  clock.jump(10);
  times.end(0);
  expect(counted).toEqual({ pull: 10 });
});

it('what failed before is part of it', () => {
  times.begin();
  clock.jump(10);
  times.delivered();
  times.reached(8);
  clock.jump(30);
  times.begin();
  clock.jump(5);
  times.delivered();
  times.end(1);
  expect(counted).toEqual({ push: 45, pull: 45, barrier: 45 });
});

it('it begins again when nothing was waited for in between', () => {
  times.begin();
  clock.jump(10);
  times.clear();
  clock.jump(30);
  times.begin();
  clock.jump(5);
  times.end(0);
  expect(counted).toEqual({ pull: 5 });
});
