/** What a trainer counts of its own time. */
import { expect, it } from 'vitest';
import { createActivity } from '../../../src/roles/trainer/activity.ts';
import { timedRouter } from '../../../src/roles/trainer/timed-router.ts';
import { createIdRouter } from '../../../src/tensor/id-router.ts';

function counted() {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs, wallSeconds: () => 0, after: () => () => {} };
  const activity = createActivity(clock);
  const task = { queue: 'train' as const, pass: 0, task: 3, attempt: 1 };
  return {
    activity,
    pass(ms: number): void {
      nowMs += ms;
    },
    begin: () => activity.begin(task, new AbortController()),
  };
}

it('what interrupts the loop is a time of its own, and no phase that the master is told', () => {
  const { activity, pass, begin } = counted();
  begin();
  activity.enter('pull');
  pass(4);
  activity.times.during('parse', () => {
    pass(6);
    expect(activity.report().phase).toBe('pull');
  });
  pass(1);
  activity.enter('compute');
  pass(2);
  expect(activity.spentMs()).toMatchObject({ start: 0, pull: 5, parse: 6, compute: 2, route: 0 });
});

it('a changeover lasts from the end of a task until the first batch of the next one, whatever is done in it', () => {
  const { activity, pass, begin } = counted();
  begin();
  activity.enter('read');
  pass(100);
  activity.enter('compute');
  pass(3);
  activity.end();
  pass(10);
  begin();
  pass(1);
  activity.enter('read');
  pass(5);
  activity.enter('pull');
  pass(20);
  activity.enter('compute');
  pass(7);
  activity.enter('pull');
  pass(50);
  activity.enter('compute');
  expect(activity.changeoverMs()).toBe(36);
});

it('a task without a batch belongs to the changeover, and what comes after the last task does not', () => {
  const { activity, pass, begin } = counted();
  begin();
  activity.enter('compute');
  activity.end();
  pass(10);
  begin();
  pass(2);
  activity.end();
  pass(3);
  begin();
  activity.enter('compute');
  activity.end();
  pass(1_000);
  expect(activity.changeoverMs()).toBe(15);
});

it('the router counts what it routes, and routes as before', () => {
  const { activity, pass } = counted();
  const plain = createIdRouter({ shards: 2 });
  const slow = {
    dedupe: (ids: Uint8Array, count: number) => {
      pass(8);
      return plain.dedupe(ids, count);
    },
    route: plain.route.bind(plain),
    tally: plain.tally.bind(plain),
  };
  const ids = new Uint8Array(new BigUint64Array([5n, 9n, 5n]).buffer);
  expect(timedRouter(slow, activity.times).dedupe(ids, 3).distinct).toBe(2);
  expect(activity.spentMs().route).toBe(8);
});
