import { expect, test } from 'vitest';
import { createLaneWork, type LaneWork } from '../../../src/core/rounds/lane-work.ts';

const ROUNDS = 10;
const at = (version: number, timeline = 0, oldest = version) => ({ timeline, version, oldest });

function standing(version: number, ...lanes: number[]): LaneWork<string> {
  const work = createLaneWork<string>();
  work.assigned(lanes, ROUNDS);
  work.positionKnown(at(version));
  return work;
}

test('without lanes it stands by, and the position of the rounds is asked for again afterwards', () => {
  const work = standing(3);
  expect(work.next()).toEqual({ do: 'standBy' });
  work.assigned([1], ROUNDS);
  expect(work.next()).toEqual({ do: 'look' });
});

test('computes its lanes, then waits for the next version, round by round', () => {
  const work = standing(3, 1, 4);
  expect(work.next()).toEqual({ do: 'compute', lanes: [1, 4] });
  work.computed(4, 'd');
  expect(work.next()).toEqual({ do: 'compute', lanes: [1] });
  work.computed(1, 'a');
  expect(work.next()).toEqual({ do: 'exchange' });
  expect(work.kept()).toEqual(['a', 'd']);
  work.confirmed();
  expect(work.kept()).toEqual([]);
  expect(work.at()).toEqual(at(4));
  expect(work.next()).toEqual({ do: 'compute', lanes: [1, 4] });
});

test('a lane dealt in mid-round is computed in that round; one taken away is kept until the round is over', () => {
  const work = standing(3, 1);
  work.computed(1, 'a');
  work.assigned([2], ROUNDS);
  expect(work.next()).toEqual({ do: 'compute', lanes: [2] });
  work.computed(2, 'b');
  work.assigned([], ROUNDS);
  expect(work.next()).toEqual({ do: 'exchange' });
  expect(work.kept()).toEqual(['a', 'b']);
  work.confirmed();
  expect(work.next()).toEqual({ do: 'standBy' });
});

test('after a disturbance it looks; what it has of the same round is not computed again', () => {
  const work = standing(3, 1, 2);
  work.computed(1, 'a');
  work.disturbed();
  expect(work.next()).toEqual({ do: 'look' });
  work.positionKnown(at(3));
  expect(work.next()).toEqual({ do: 'compute', lanes: [2] });
  expect(work.kept()).toEqual(['a']);
});

test.each([
  ['a later round', at(4)],
  ['another timeline', at(3, 1)],
])('%s: nothing of before is kept', (_, now) => {
  const work = standing(3, 1);
  work.computed(1, 'a');
  work.positionKnown(now);
  expect(work.kept()).toEqual([]);
  expect(work.next()).toEqual({ do: 'compute', lanes: [1] });
});

test('lanes of a version that is gone are reported; those computed before are pushed', () => {
  const work = standing(3, 1, 2);
  work.positionKnown(at(3, 0, 4));
  expect(work.next()).toEqual({ do: 'reportStuck' });
  const other = standing(3, 1);
  other.computed(1, 'a');
  other.positionKnown(at(3, 0, 4));
  expect(other.next()).toEqual({ do: 'exchange' });
});

test('a lane that failed is left alone until it is tried again, even when it was pushed', () => {
  const work = standing(3, 1, 2);
  work.failed(1);
  expect(work.next()).toEqual({ do: 'compute', lanes: [2] });
  work.computed(2, 'b');
  expect(work.next()).toEqual({ do: 'exchange' });
  work.failed(2);
  expect(work.kept()).toEqual([]);
  expect(work.hasFailed()).toBe(true);
  work.retry();
  expect(work.next()).toEqual({ do: 'compute', lanes: [1, 2] });
  work.failed(1);
  work.confirmed();
  expect(work.hasFailed()).toBe(false);
});

test('at the end there is nothing to compute', () => {
  const work = standing(ROUNDS - 1, 1);
  work.computed(1, 'a');
  work.confirmed();
  expect(work.next()).toEqual({ do: 'finished' });
  work.positionKnown(at(0, 1));
  expect(work.next()).toEqual({ do: 'compute', lanes: [1] });
});

test('it halts at the round up to which it may compute, and goes on when it may compute more', () => {
  const work = standing(3, 1);
  work.assigned([1], 4);
  work.computed(1, 'a');
  work.confirmed();
  expect(work.next()).toEqual({ do: 'finished' });
  work.assigned([1], 5);
  expect(work.next()).toEqual({ do: 'compute', lanes: [1] });
});
