/** Lanes are dealt evenly, with few moves, and late ones get help (docs/modes.md). */

import { describe, expect, it } from 'vitest';
import type { LaneDealerOptions } from '../../../src/core/rounds/lane-events.ts';
import * as fc from '../../properties.ts';
import { FLOOR, LaneRig, OPTIONS } from './lane-rig.ts';

describe('lanes are shared', () => {
  it('no trainer has one until there are enough trainers', () => {
    const rig = new LaneRig({ minTrainers: 2 });
    expect(rig.dealer.assignment()).toEqual({ number: 1, owners: Array.from({ length: 8 }, () => []) });
    rig.joined('ann');
    expect(rig.dealer.assignment().number).toBe(1);
    expect(rig.dealer.missingTrainers()).toBe(1);
    rig.joined('bob');
    expect(rig.dealer.missingTrainers()).toBe(0);
    expect(rig.counts()).toEqual([4, 4]);
    rig.gone('ann');
    expect(rig.dealer.assignment().owners.flat()).toEqual([]);
  });

  it('who had lanes before there were too few trainers has them again', () => {
    const rig = new LaneRig({ minTrainers: 2 });
    rig.joined('ann', 'bob');
    const bobs = rig.lanesOf('bob');
    rig.gone('ann');
    rig.joined('cid');
    expect(rig.lanesOf('bob')).toEqual(bobs);
  });

  it('more trainers than lanes, or than may work, stand by, in the order in which they joined', () => {
    const rig = new LaneRig({ lanes: 2 });
    rig.joined('ann', 'bob', 'cid');
    expect(rig.lanesOf('cid')).toEqual([]);
    rig.gone('ann');
    expect(rig.counts()).toEqual([1, 1]);
    const few = new LaneRig({ maxTrainers: 2 });
    few.joined('ann', 'bob', 'cid');
    expect(few.counts()).toEqual([4, 4]);
  });

  it('a roster keeps the order of those known and drops those missing in it', () => {
    const rig = new LaneRig({ maxTrainers: 1 });
    rig.joined('ann', 'bob');
    rig.step({ type: 'roster', trainers: ['bob', 'ann', 'cid'] });
    expect(rig.lanesOf('ann')).toHaveLength(8);
    rig.step({ type: 'roster', trainers: ['cid', 'bob'] });
    expect(rig.lanesOf('bob')).toHaveLength(8);
  });

  it('a new master may begin with another number', () => {
    const rig = new LaneRig({ firstNumber: 100 });
    rig.joined('ann');
    expect(rig.of('assigned')).toEqual([{ type: 'assigned', number: 101 }]);
  });
});

type Change = readonly ['joined' | 'gone', number];

const changes = fc.array(fc.tuple(fc.constantFrom<'joined' | 'gone'>('joined', 'gone'), fc.nat(9)), { maxLength: 40 });
const bounds = fc.record({
  lanes: fc.integer({ min: 1, max: 12 }),
  minTrainers: fc.integer({ min: 1, max: 3 }),
  maxTrainers: fc.integer({ min: 3, max: 8 }),
});

/** As few lanes as must change hands between two even shares. */
function fewestMoves(before: readonly (string | undefined)[], working: readonly string[]): number {
  const lanes = before.length;
  const least = Math.floor(lanes / working.length);
  let larger = lanes % working.length;
  const kept = working
    .map((trainer) => before.filter((owner) => owner === trainer).length)
    .sort((a, b) => b - a)
    .map((count) => Math.min(count, larger-- > 0 ? least + 1 : least));
  return lanes - kept.reduce((sum, count) => sum + count, 0);
}

describe('a trainer that joins or leaves', () => {
  const check = (options: Partial<LaneDealerOptions>, steps: readonly Change[]): void => {
    const rig = new LaneRig(options);
    const { lanes, minTrainers, maxTrainers } = { ...OPTIONS, ...options };
    const live: string[] = [];
    let held: (string | undefined)[] = Array.from({ length: lanes }, () => undefined);
    for (const [type, who] of steps) {
      const trainer = `t${who}`;
      const before = rig.dealer.assignment();
      const effects = rig.step({ type, trainer });
      const after = rig.dealer.assignment();
      if (type === 'gone' && live.includes(trainer)) live.splice(live.indexOf(trainer), 1);
      if (type === 'joined' && !live.includes(trainer)) live.push(trainer);
      const changed = JSON.stringify(before.owners) !== JSON.stringify(after.owners);
      expect(after.number).toBe(before.number + (changed ? 1 : 0));
      expect(effects).toEqual(changed ? [{ type: 'assigned', number: after.number }] : []);
      if (live.length < minTrainers) {
        expect(after.owners.flat()).toEqual([]);
        continue;
      }
      const working = live.slice(0, Math.min(maxTrainers, lanes));
      const own = after.owners.map((owners) => owners[0]!);
      expect(after.owners.every((owners) => owners.length === 1)).toBe(true);
      const counts = working.map((one) => own.filter((owner) => owner === one).length);
      expect(counts.reduce((sum, count) => sum + count)).toBe(lanes);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      expect(own.filter((owner, lane) => owner !== held[lane])).toHaveLength(fewestMoves(held, working));
      held = own;
    }
  };

  it('every lane has an owner among the first ones live, shares differ by one, as few move as can, numbers rise on change', () => {
    fc.assert(fc.property(bounds, changes, check), { numRuns: 500 });
  });

  it('also with as many lanes and trainers as there may be', () => {
    const steps: Change[] = Array.from({ length: 60 }, (_, i) => ['joined', i]);
    check({ lanes: 4096, maxTrainers: 4096 }, [...steps, ['gone', 3], ['gone', 50], ['joined', 3]]);
  });
});

describe('a lane that is late', () => {
  it('is computed by an idle trainer as well, when others of the round are in', () => {
    const rig = new LaneRig({ maxTrainers: 2 });
    rig.joined('ann', 'bob', 'idle');
    rig.rounds(3);
    expect(rig.dealer.nextDeadline()).toBe(rig.now + FLOOR);
    rig.now += FLOOR;
    expect(rig.step({ type: 'tick' })).toEqual([{ type: 'look' }]);
    const [lane] = rig.lanesOf('ann');
    rig.seen([lane!]);
    expect(rig.owners(lane!)).toEqual(['ann', 'idle']);
    expect(rig.of('late')).toEqual([{ type: 'late', round: 3, lane, slow: 'ann', trainer: 'idle' }]);
    expect(rig.dealer.helped()).toBe(1);
  });

  it('else by the one with the least to do of those whose lanes are all in', () => {
    const rig = new LaneRig({ lanes: 5 });
    rig.joined('ann', 'bob', 'cid');
    rig.rounds(3);
    rig.now += FLOOR;
    const [anns, bobs] = [rig.lanesOf('ann'), rig.lanesOf('bob')];
    const one = rig.lanesOf('cid').length === 1 ? 'cid' : 'bob';
    rig.seen(anns);
    expect(rig.owners(anns[0]!)).toEqual(['ann', one]);
    // That one has two by now, as the other.
    expect(rig.of('late')).toHaveLength(2);
    expect(bobs).toEqual(rig.lanesOf('bob'));
  });

  it('once in a while, and not while all lanes are missing, unless for very long', () => {
    const rig = new LaneRig({ maxTrainers: 2 });
    rig.joined('ann', 'bob', 'idle', 'idler');
    rig.rounds(2);
    rig.now += 9_999;
    rig.seen([0]);
    expect(rig.of('late')).toEqual([]);
    expect(rig.dealer.nextDeadline()).toBe(rig.now + 1);
    rig.version += 1;
    rig.rounds(1);
    rig.now += 9 * FLOOR;
    rig.seen();
    expect(rig.of('late')).toEqual([]);
    rig.seen([0]);
    rig.now += 9 * FLOOR;
    rig.seen([0]);
    expect(rig.of('late')).toHaveLength(1);
    rig.now += FLOOR;
    rig.seen([0]);
    expect(rig.of('late')).toHaveLength(2);
  });

  it('slow rounds all over are not late', () => {
    const rig = new LaneRig();
    rig.joined('ann', 'bob');
    rig.rounds(5, 10 * FLOOR);
    rig.now += 39 * FLOOR;
    rig.seen([0]);
    expect(rig.of('late')).toEqual([]);
    rig.now += FLOOR;
    rig.seen([0]);
    expect(rig.of('late')).toHaveLength(1);
  });

  it('is not late when a pserver has just lost it', () => {
    const rig = new LaneRig();
    rig.joined('ann', 'bob');
    rig.rounds(3);
    rig.seen([1]);
    rig.now += 5 * FLOOR;
    rig.seen([0, 1]);
    expect(rig.of('late')).toEqual([]);
    expect(rig.dealer.nextDeadline()).toBe(rig.now + FLOOR);
  });

  it('has help for some rounds, for more when its trainer is late again', () => {
    const rig = new LaneRig({ lanes: 2 });
    rig.joined('ann', 'bob', 'idle');
    const late = (): number => {
      rig.now += FLOOR;
      rig.seen([0]);
      expect(rig.owners(0)).toEqual(['ann', 'idle']);
      for (let rounds = 1; ; rounds++) {
        rig.rounds(1);
        if (rig.owners(0).length === 1) return rounds;
      }
    };
    rig.rounds(3);
    expect([late(), late(), late()]).toEqual([4, 8, 16]);
    rig.rounds(200);
    expect(late()).toBe(4);
  });

  it('late again and again: its trainer has fewer lanes, and all of them again when it is on time', () => {
    const rig = new LaneRig();
    rig.joined('ann', 'bob');
    rig.rounds(3);
    for (let i = 0; i < 4; i++) {
      rig.now += FLOOR;
      rig.seen(rig.lanesOf('ann').slice(0, 1));
      while (rig.dealer.assignment().owners.some((owners) => owners.length > 1)) rig.rounds(1);
    }
    rig.rounds(1);
    expect(rig.lanesOf('ann').length).toBeLessThan(4);
    expect(rig.lanesOf('ann').length).toBeGreaterThan(0);
    rig.rounds(400);
    expect(rig.lanesOf('ann')).toHaveLength(4);
  });

  it('a helper that goes is none any more; one that is left alone with the lane owns it', () => {
    const rig = new LaneRig({ lanes: 2 });
    rig.joined('ann', 'bob', 'idle');
    rig.rounds(3);
    rig.now += FLOOR;
    rig.seen([0]);
    rig.gone('idle');
    expect(rig.owners(0)).toEqual(['ann']);
    rig.joined('idle');
    rig.now += FLOOR;
    rig.version += 1;
    rig.seen();
    rig.now += 5 * FLOOR;
    rig.seen([0]);
    expect(rig.owners(0)).toEqual(['ann', 'idle']);
    rig.gone('ann');
    expect(rig.owners(0)).toEqual(['idle']);
  });
});

it('with no lanes wanted there is nothing to look at', () => {
  const rig = new LaneRig();
  rig.joined('ann', 'bob');
  rig.rounds(5);
  rig.seen([]);
  expect(rig.dealer.nextDeadline()).toBeUndefined();
  rig.now += 100 * FLOOR;
  expect(rig.step({ type: 'tick' })).toEqual([]);
});

describe('trainers that go silent', () => {
  it.each([1, 2, 3, 5])('%i of them keep a lane from none that works, from the first round on', (silent) => {
    const rig = new LaneRig({ lanes: 1, maxTrainers: 1 });
    rig.joined(...Array.from({ length: silent }, (_, i) => `silent ${i}`), 'ann');
    rig.seen();
    for (let i = 0; i < 2_000 && !rig.owners(0).includes('ann'); i++) {
      rig.now += 1_000;
      rig.seen();
    }
    expect(rig.owners(0)).toContain('ann');
  });

  it('also of a round of which other lanes are there', () => {
    const rig = new LaneRig({ lanes: 6 });
    rig.joined('silent 0', 'silent 1', 'silent 2', 'silent 3', 'ann', 'bob');
    const theirs = [0, 1, 2, 3].flatMap((i) => rig.lanesOf(`silent ${i}`));
    const isHelped = (lane: number) => rig.owners(lane).some((one) => one === 'ann' || one === 'bob');
    rig.seen(theirs);
    for (let i = 0; i < 2_000 && !theirs.every(isHelped); i++) {
      rig.now += 1_000;
      rig.seen(theirs);
    }
    expect(theirs.every(isHelped)).toBe(true);
  });

  it('and one that asks again after it was said to leave has lanes again', () => {
    const rig = new LaneRig();
    rig.joined('ann');
    rig.step({ type: 'left', trainer: 'ann' });
    expect(rig.lanesOf('ann')).toEqual([]);
    rig.step({ type: 'asks', trainer: 'ann' });
    expect(rig.lanesOf('ann')).toHaveLength(8);
    rig.step({ type: 'asks', trainer: 'a stranger' });
    expect(rig.lanesOf('ann')).toHaveLength(8);
  });
});
