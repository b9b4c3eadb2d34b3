/** When the master has the pservers save, and which round (docs/modes.md, "Cuts"). */

import { describe, expect, it } from 'vitest';
import {
  type CutEvent,
  type CutPlannerOptions,
  createCutPlanner,
  type PlannedCut,
} from '../../../src/core/rounds/cut-planner.ts';
import * as fc from '../../properties.ts';

const ROUNDS_A_PASS = 100;
const OPTIONS: CutPlannerOptions = {
  intervalMs: undefined,
  everyPasses: undefined,
  everyRounds: undefined,
  isFirstUrgent: false,
  until: 1_000,
  firstOf: (pass) => Math.min(pass, 10) * ROUNDS_A_PASS,
  passOf: (round) => Math.floor(round / ROUNDS_A_PASS),
  last: 0,
};

/** Rounds that go on at a speed, seen every 50 ms. */
class Rig {
  now = 10_000;
  round = 0;
  readonly cuts: (PlannedCut & { at: number; seen: number })[] = [];
  readonly #planner;

  constructor(options: Partial<CutPlannerOptions> = {}) {
    this.round = options.last ?? 0;
    this.#planner = createCutPlanner({ ...OPTIONS, ...options }, this.now);
  }

  step(event: CutEvent): PlannedCut | undefined {
    const cut = this.#planner.step(event, this.now);
    if (cut !== undefined) this.cuts.push({ ...cut, at: this.now, seen: this.round });
    return cut;
  }

  run(ms: number, roundsASecond: number): void {
    for (let passed = 0; passed < ms; passed += 50) {
      this.now += 50;
      this.round += (roundsASecond * 50) / 1000;
      this.step({ type: 'rounds', highest: Math.floor(this.round) });
    }
  }

  /** Until the next cut is announced, and it is complete. */
  complete(): number {
    const { round } = this.cuts.at(-1)!;
    this.step({ type: 'completed', round });
    return round;
  }
}

describe('when', () => {
  it('never, unless somebody wants it', () => {
    const rig = new Rig();
    rig.run(10_000, 50);
    expect(rig.cuts).toEqual([]);
  });

  it('after the interval, counted from the end of the one before', () => {
    const rig = new Rig({ intervalMs: 2_000 });
    rig.run(1_950, 20);
    expect(rig.cuts).toEqual([]);
    rig.run(100, 20);
    expect(rig.cuts).toHaveLength(1);
    // Taking it takes its time, in which no other is begun.
    rig.run(5_000, 20);
    expect(rig.cuts).toHaveLength(1);
    const ended = rig.now;
    rig.complete();
    rig.run(3_000, 20);
    expect(rig.cuts).toHaveLength(2);
    expect(rig.cuts[1]!.at).toBe(ended + 2_000);
  });

  it('not after the interval when nothing has changed since the last', () => {
    const rig = new Rig({ intervalMs: 1_000, last: 40 });
    rig.run(5_000, 0);
    expect(rig.cuts).toEqual([]);
    rig.run(1_050, 20);
    expect(rig.cuts).toHaveLength(1);
  });

  it('at the end of each so many passes, exactly there', () => {
    const rig = new Rig({ everyPasses: 2 });
    while (rig.round < 950) {
      rig.run(50, 40);
      if (rig.cuts.length > 0 && rig.cuts.at(-1)!.round <= rig.round) rig.complete();
    }
    expect([...new Set(rig.cuts.map(({ round }) => round))]).toEqual([200, 400, 600, 800]);
  });

  it('none is planned at or past the round at which training halts, before it goes on', () => {
    const rig = new Rig({ until: 105, everyRounds: 100 });
    rig.run(1_000, 100);
    rig.step({ type: 'asked' });
    expect(rig.cuts.at(-1)?.round).toBeLessThanOrEqual(105);
    rig.step({ type: 'completed', round: rig.cuts.at(-1)!.round });
    const taken = rig.cuts.length;
    rig.run(100, 50);
    expect(rig.cuts).toHaveLength(taken);
    rig.step({ type: 'goOn', until: 1_000 });
    rig.run(3_000, 100);
    expect(rig.cuts.length).toBeGreaterThan(taken);
  });

  it('so many rounds after the last', () => {
    const rig = new Rig({ everyRounds: 30, last: 100 });
    rig.run(2_000, 20);
    expect(rig.cuts.map(({ round }) => round)).toEqual([130]);
    expect(rig.complete()).toBe(130);
    rig.run(1_000, 20);
    expect(rig.cuts.map(({ round }) => round)).toEqual([130, 160]);
  });

  it('the end has a cut of its own, unless somebody asks', () => {
    const rig = new Rig({ intervalMs: 1_000, everyPasses: 1, last: 990 });
    rig.run(500, 20);
    rig.run(3_000, 0);
    expect(rig.cuts).toEqual([]);
    expect(rig.step({ type: 'asked' })).toMatchObject({ round: 1_000 });
  });

  it('after one that was not written, the next occasion or a pause that doubles, whichever is sooner', () => {
    for (const [intervalMs, pauses] of [
      [500, [500, 500, 500]],
      [3_600_000, [1_000, 2_000, 4_000]],
    ] as const) {
      const rig = new Rig({ intervalMs });
      rig.step({ type: 'asked' });
      rig.run(50, 20);
      for (const [tries, pauseMs] of pauses.entries()) {
        expect(rig.cuts).toHaveLength(tries + 1);
        rig.step({ type: 'failed', round: rig.cuts.at(-1)!.round });
        const failedAt = rig.now;
        rig.run(pauseMs, 20);
        expect(rig.cuts.at(-1)!.at).toBe(failedAt + pauseMs);
      }
    }
  });
});

describe('the first one after a warm start', () => {
  const warm = { isFirstUrgent: true };

  it('as soon as a round is done: a cut of round 0 is none', () => {
    const rig = new Rig(warm);
    rig.run(2_000, 0);
    expect(rig.step({ type: 'asked' })).toMatchObject({ round: 0 });
    rig.complete();
    rig.run(1_000, 0);
    expect(rig.cuts).toHaveLength(1);
    rig.run(50, 20);
    expect(rig.cuts).toHaveLength(2);
    expect(rig.cuts[1]!.round).toBeGreaterThan(0);
    rig.complete();
    rig.run(20_000, 20);
    expect(rig.cuts).toHaveLength(2);
  });

  it('not by the next master, when there is one', () => {
    const rig = new Rig({ ...warm, last: 40 });
    rig.run(20_000, 20);
    expect(rig.cuts).toEqual([]);
  });

  it('again when all were set back to the beginning', () => {
    const rig = new Rig(warm);
    rig.run(500, 20);
    expect(rig.cuts).toHaveLength(1);
    rig.step({ type: 'rolledBack', round: 0 });
    rig.round = 0;
    rig.run(500, 20);
    expect(rig.cuts).toHaveLength(2);
  });

  it('after pauses that double when it cannot be written', () => {
    const rig = new Rig(warm);
    rig.run(50, 20);
    for (const [tries, pauseMs] of [1_000, 2_000, 4_000].entries()) {
      expect(rig.cuts).toHaveLength(tries + 1);
      rig.step({ type: 'failed', round: rig.cuts.at(-1)!.round });
      const failedAt = rig.now;
      rig.run(pauseMs, 20);
      expect(rig.cuts.at(-1)!.at).toBe(failedAt + pauseMs);
    }
  });
});

describe('which round', () => {
  it('the one that all are at, while nothing moves', () => {
    const rig = new Rig({ last: 12 });
    rig.run(1_500, 0);
    expect(rig.step({ type: 'asked' })).toMatchObject({ round: 12 });
  });

  it('one that is a quarter of a second ahead', () => {
    const rig = new Rig();
    rig.run(2_000, 100);
    const cut = rig.step({ type: 'asked' })!;
    expect(cut.round).toBeGreaterThanOrEqual(rig.round + 20);
    expect(cut.round).toBeLessThanOrEqual(rig.round + 30);
  });

  it('further ahead each time that a pserver was past it, from what is seen then', () => {
    const rig = new Rig({ until: 100_000 });
    rig.run(2_000, 100);
    const aheads: number[] = [];
    rig.step({ type: 'asked' });
    for (let i = 0; i < 4; i++) {
      const last = rig.cuts.at(-1)!;
      aheads.push(last.round - last.seen);
      expect(rig.step({ type: 'declined', passed: true })).toBeUndefined();
      rig.run(50, 100);
      expect(rig.cuts).toHaveLength(i + 2);
    }
    expect(aheads).toEqual([...aheads].sort((a, b) => a - b));
    expect(aheads[3]).toBeGreaterThan(4 * aheads[0]!);
    rig.complete();
    // What was learnt is for this time only.
    rig.step({ type: 'asked' });
    expect(rig.cuts.at(-1)!.round - rig.round).toBeLessThan(2 * aheads[0]!);
  });

  it('no further ahead when it was declined for want of rounds', () => {
    const rig = new Rig();
    rig.run(2_000, 100);
    const first = rig.step({ type: 'asked' })!.round - rig.round;
    rig.step({ type: 'declined', passed: false });
    rig.run(50, 100);
    expect(rig.cuts[1]!.round - rig.cuts[1]!.seen).toBeLessThanOrEqual(first + 2);
  });
});

describe('after all were set back', () => {
  it('a request gets one all the same, of what is seen then', () => {
    const rig = new Rig({ last: 50 });
    rig.run(1_000, 20);
    rig.step({ type: 'asked' });
    expect(rig.cuts).toHaveLength(1);
    rig.step({ type: 'rolledBack', round: 50 });
    expect(rig.cuts).toHaveLength(1);
    rig.round = 50;
    rig.run(50, 20);
    expect(rig.cuts).toHaveLength(2);
    expect(rig.cuts[1]!.round).toBeLessThan(60);
  });

  it('so many rounds are counted from there', () => {
    const rig = new Rig({ everyRounds: 100 });
    rig.run(3_500, 20);
    rig.step({ type: 'rolledBack', round: 0 });
    rig.round = 0;
    rig.run(3_000, 20);
    expect(rig.cuts).toEqual([]);
    rig.run(2_000, 20);
    expect(rig.cuts.map(({ round }) => round)).toEqual([100]);
  });
});

it('announces one at a time, never a round that was passed when it was seen, never beyond the end', () => {
  const event: fc.Arbitrary<CutEvent | { type: 'time'; ms: number; rounds: number }> = fc.oneof(
    fc.record({ type: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 2_000 }), rounds: fc.nat(60) }),
    fc.constantFrom<CutEvent>({ type: 'asked' }),
    fc.boolean().map((passed): CutEvent => ({ type: 'declined', passed })),
    fc.constantFrom<CutEvent>({ type: 'completed', round: -1 }, { type: 'failed', round: -1 }),
    fc.nat(500).map((round): CutEvent => ({ type: 'rolledBack', round })),
  );
  const options = fc.record({
    intervalMs: fc.option(fc.integer({ min: 100, max: 5_000 }), { nil: undefined }),
    everyPasses: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    everyRounds: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    isFirstUrgent: fc.boolean(),
  });
  fc.assert(
    fc.property(options, fc.array(event, { maxLength: 200 }), (some, events) => {
      const planner = createCutPlanner({ ...OPTIONS, ...some }, 0);
      let now = 0;
      let highest = 0;
      let running: number | undefined;
      for (const one of events) {
        let next: CutEvent;
        if (one.type === 'time') {
          now += one.ms;
          highest = Math.min(OPTIONS.until, highest + one.rounds);
          next = { type: 'rounds', highest };
        } else if (one.type === 'completed' || one.type === 'failed') {
          if (running === undefined) continue;
          next = { type: one.type, round: running };
        } else next = one;
        if (next.type === 'declined' && running === undefined) continue;
        if (next.type === 'rolledBack') highest = Math.min(highest, next.round);
        if (next.type !== 'rounds' && next.type !== 'asked') running = undefined;
        const cut = planner.step(next, now);
        if (cut === undefined) continue;
        expect(running).toBeUndefined();
        expect(cut.round).toBeGreaterThanOrEqual(highest);
        expect(cut.round).toBeLessThanOrEqual(OPTIONS.until);
        running = cut.round;
      }
    }),
    { numRuns: 500 },
  );
});
