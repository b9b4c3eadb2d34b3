/**
 * Lanes that take one trainer after the other with them are counted, innocent ones are not (docs/design.md §4: a lane
 * that keeps dying fails the job).
 */
import { describe, expect, it } from 'vitest';
import { LaneRig } from './lane-rig.ts';

describe('a lane whose trainer goes', () => {
  it('counts when it is missing at the next look, in its round only', () => {
    const rig = new LaneRig({ lanes: 2 });
    rig.joined('ann', 'bob', 'cid');
    rig.seen();
    expect(rig.gone('ann')).toContainEqual({ type: 'look' });
    expect(rig.dealer.failures(0, 0)).toBe(0);
    rig.seen([0]);
    expect(rig.of('failure')).toEqual([
      { type: 'failure', round: 0, lane: 0, trainer: 'ann', failures: 1, died: true },
    ]);
    rig.gone(rig.owners(0)[0]!);
    rig.seen([0]);
    expect(rig.dealer.failures(0, 0)).toBe(2);
    rig.version += 1;
    rig.seen();
    expect(rig.dealer.failures(0, 0)).toBe(0);
  });

  it('does not count when the lane was in, and counts once while no look succeeds', () => {
    const rig = new LaneRig({ lanes: 1 });
    rig.joined('ann', 'bob', 'cid', 'dan');
    rig.seen();
    for (const trainer of ['ann', 'bob', 'cid']) rig.gone(trainer);
    rig.seen();
    expect(rig.dealer.failures(0, 0)).toBe(1);
    rig.seen([]);
    rig.gone('dan');
    rig.seen();
    expect(rig.dealer.failures(0, 0)).toBe(1);
  });

  it('does not count when it left and said so, though its registration stays a while', () => {
    const rig = new LaneRig({ lanes: 2 });
    rig.joined('ann', 'bob');
    rig.seen();
    expect(rig.step({ type: 'left', trainer: 'ann' })).toEqual([{ type: 'assigned', number: 4 }]);
    rig.step({ type: 'roster', trainers: ['ann', 'bob'] });
    rig.joined('ann');
    expect([rig.owners(0), rig.owners(1)]).toEqual([['bob'], ['bob']]);
    rig.gone('ann');
    rig.seen();
    expect(rig.of('failure')).toEqual([]);
    // Under another registration it is another trainer, even of the same name.
    rig.joined('ann');
    expect(rig.counts()).toEqual([1, 1]);
    expect(rig.step({ type: 'left', trainer: 'a stranger' })).toEqual([]);
  });

  it('is remembered over a rollback', () => {
    const rig = new LaneRig({ lanes: 1 });
    rig.joined('ann', 'bob');
    rig.rounds(5);
    rig.gone('ann');
    rig.seen();
    rig.timeline = 1;
    rig.version = 3;
    rig.seen();
    expect(rig.dealer.failures(5, 0)).toBe(1);
    rig.version = 6;
    rig.seen();
    expect(rig.dealer.failures(5, 0)).toBe(0);
  });

  it('what is older than what was seen says nothing', () => {
    const rig = new LaneRig();
    rig.joined('ann');
    rig.rounds(3);
    const deadline = rig.dealer.nextDeadline();
    rig.now += 1;
    expect(rig.step({ type: 'rounds', timeline: 0, version: 2, missing: [1] })).toEqual([]);
    expect(rig.dealer.nextDeadline()).toBe(deadline);
  });

  it('that says it cannot compute it fails too, and another tries', () => {
    const rig = new LaneRig({ lanes: 2 });
    rig.joined('ann', 'bob', 'idle');
    rig.seen();
    rig.step({ type: 'failed', trainer: 'ann', round: 0, lane: 0 });
    expect(rig.of('failure')).toEqual([
      { type: 'failure', round: 0, lane: 0, trainer: 'ann', failures: 1, died: false },
    ]);
    expect(rig.owners(0)).toEqual(['ann', 'idle']);
    rig.version = 1;
    rig.seen();
    rig.step({ type: 'failed', trainer: 'ann', round: 0, lane: 0 });
    expect(rig.of('failure')).toHaveLength(1);
  });
});
