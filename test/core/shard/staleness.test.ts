/** Staleness: the rule by itself, and the gate of policy `wait` under any order of events. */

import { describe, expect, it } from 'vitest';
import { judgeStaleness, rateScaleOf } from '../../../src/core/shard/staleness.ts';
import { type GateEffect, StalenessGate } from '../../../src/core/shard/staleness-gate.ts';
import * as fc from '../../properties.ts';

const at = (version: number, revision = '7') => ({ revision, version });

describe('judgeStaleness', () => {
  it.each(['wait', 'refuse', 'scale', undefined] as const)('applies what is within the bound: %s', (policy) => {
    const rule = policy && { bound: 3, policy };
    expect(judgeStaleness(rule, at(10), at(7))).toEqual({ outcome: 'apply', staleness: 3, rateScale: 1 });
    expect(judgeStaleness(rule, at(10), undefined)).toEqual({ outcome: 'apply', staleness: undefined, rateScale: 1 });
  });

  it('beyond it: refuses, scales, or lets be', () => {
    const judge = (policy: 'wait' | 'refuse' | 'scale') => judgeStaleness({ bound: 3, policy }, at(10), at(6));
    expect(judge('refuse')).toEqual({ outcome: 'refuse', staleness: 4 });
    expect(judge('scale')).toEqual({ outcome: 'apply', staleness: 4, rateScale: 1 / 2 });
    expect(judge('wait')).toEqual({ outcome: 'apply', staleness: 4, rateScale: 1 });
  });

  it.each([at(6, '6'), at(11)])('knows nothing of another state of the shards', (used) => {
    for (const policy of ['refuse', 'scale'] as const) {
      expect(judgeStaleness({ bound: 100, policy }, at(10), used)).toEqual({ outcome: 'refuse', staleness: undefined });
    }
    expect(judgeStaleness(undefined, at(10), used)).toMatchObject({ outcome: 'apply', staleness: undefined });
  });

  it('with a bound of 1 scales by 1 / staleness', () => {
    for (const staleness of [1, 2, 5, 100]) expect(rateScaleOf(staleness, 1)).toBe(1 / staleness);
    expect(rateScaleOf(0, 1)).toBe(1);
  });
});

const PATIENCE = 100;
const ANSWER = 1_000;

interface Trainer {
  /** Version pulled, and pushes of it left; undefined: holds nothing. */
  held: { version: number; left: number } | undefined;
  asked: { request: number; pushes: number } | undefined;
}

/** Trainers that ask, push, fall silent and die in any order, at one gate. */
class Rig {
  readonly gate;
  readonly trainers: Trainer[];
  readonly bound: number;
  version = 0;
  now = 0;
  worst = 0;
  expired = new Set<number>();
  #requests = 0;

  constructor(bound: number, trainers: number) {
    this.bound = bound;
    this.gate = new StalenessGate({ bound, patienceMs: PATIENCE, answerWithinMs: ANSWER });
    this.trainers = Array.from({ length: trainers }, () => ({ held: undefined, asked: undefined }));
  }

  ask(id: number, pushes: number): void {
    const trainer = this.trainers[id]!;
    if (trainer.asked !== undefined || trainer.held !== undefined) return;
    this.#requests += 1;
    trainer.asked = { request: this.#requests, pushes };
    this.expired.delete(id);
    this.#take(
      this.gate.step(
        { type: 'ask', holder: id, request: this.#requests, pushes, since: undefined },
        this.version,
        this.now,
      ),
    );
  }

  push(id: number): void {
    const trainer = this.trainers[id]!;
    if (trainer.held === undefined) return;
    if (!this.expired.has(id)) this.worst = Math.max(this.worst, this.version - trainer.held.version);
    this.version += 1;
    trainer.held.left -= 1;
    if (trainer.held.left === 0) trainer.held = undefined;
    this.#take(this.gate.step({ type: 'pushed', holder: id }, this.version, this.now));
  }

  /** All that it pushed is acknowledged, and it asks for nothing. */
  releaseHold(id: number): void {
    this.#take(
      this.gate.step({ type: 'ask', holder: id, request: 0, pushes: 0, since: undefined }, this.version, this.now),
    );
  }

  die(id: number): void {
    this.trainers[id] = { held: undefined, asked: undefined };
    this.#take(this.gate.step({ type: 'disconnected', holder: id }, this.version, this.now));
  }

  /** Lets time pass; ticks when the gate wants one. */
  wait(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const due = this.gate.nextDeadline();
      if (due === undefined || due > until) break;
      this.now = Math.max(this.now, due);
      const effects = this.gate.step({ type: 'tick' }, this.version, this.now);
      expect(effects, 'a deadline is for something').not.toEqual([]);
      this.#take(effects);
    }
    this.now = until;
  }

  #take(effects: readonly GateEffect[]): void {
    for (const effect of effects) {
      if (effect.type === 'expired') {
        this.expired.add(effect.holder);
        continue;
      }
      const trainer = this.trainers.find(({ asked }) => asked?.request === effect.request);
      if (trainer?.asked === undefined) continue;
      if (effect.type === 'admit') trainer.held = { version: this.version, left: trainer.asked.pushes };
      trainer.asked = undefined;
    }
  }
}

const trainer = fc.nat(3);
const command = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('ask' as const), trainer, fc.integer({ min: 1, max: 3 })) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('push' as const), trainer, fc.constant(0)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('die' as const), trainer, fc.constant(0)) },
);
const slow = fc.tuple(fc.constant('wait' as const), fc.constant(0), fc.integer({ min: 1, max: 250 }));

function play(rig: Rig, commands: readonly (readonly ['ask' | 'push' | 'die' | 'wait', number, number])[]): void {
  for (const [what, id, number] of commands) {
    if (what === 'ask') rig.ask(id, number);
    else if (what === 'push') rig.push(id);
    else if (what === 'die') rig.die(id);
    else rig.wait(number);
  }
}

describe('the gate', () => {
  it('keeps every push within the bound, when no trainer is silent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.array(command, { maxLength: 120 }), (bound, commands) => {
        const rig = new Rig(bound, 4);
        play(rig, commands);
        expect(rig.worst).toBeLessThanOrEqual(bound);
      }),
      { numRuns: 500 },
    );
  });

  it('delays no trainer for good, whichever others die or fall silent', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8 }),
        fc.array(fc.oneof(command, slow), { maxLength: 120 }),
        (bound, commands) => {
          const rig = new Rig(bound, 4);
          play(rig, commands);
          // From here on one trainer asks, and no other does anything at all.
          rig.die(3);
          rig.ask(3, 1);
          rig.wait(5 * PATIENCE);
          expect(rig.trainers[3]!.held).toBeDefined();
          expect(rig.gate.waiting()).toBe(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('admits in turns: a fast one waits for the push of the slow one', () => {
    const rig = new Rig(2, 2);
    rig.ask(0, 1);
    for (let i = 0; i < 2; i++) {
      rig.ask(1, 1);
      rig.push(1);
    }
    rig.ask(1, 1);
    expect(rig.trainers[1]).toMatchObject({ held: undefined, asked: { pushes: 1 } });
    rig.push(0);
    // Other pservers may not have it yet.
    expect(rig.trainers[1]!.held).toBeUndefined();
    rig.releaseHold(0);
    expect(rig.trainers[1]!.held).toEqual({ version: 3, left: 1 });
    expect(rig.worst).toBe(2);
  });

  it('does not wait for one that died, that holds nothing, or that is silent', () => {
    const blocked = (): Rig => {
      const rig = new Rig(0, 2);
      rig.ask(0, 1);
      rig.ask(1, 1);
      expect(rig.trainers[1]!.held).toBeUndefined();
      return rig;
    };
    const dead = blocked();
    dead.die(0);
    expect(dead.trainers[1]!.held).toBeDefined();
    const idle = blocked();
    idle.releaseHold(0);
    expect(idle.trainers[1]!.held).toBeDefined();
    const silent = blocked();
    silent.wait(PATIENCE - 1);
    expect(silent.trainers[1]!.held).toBeUndefined();
    silent.wait(1);
    expect(silent.trainers[1]!.held).toBeDefined();
    expect([...silent.expired]).toEqual([0]);
  });

  it('one that already holds values never waits, and keeps their age', () => {
    const gate = new StalenessGate({ bound: 1, patienceMs: PATIENCE, answerWithinMs: ANSWER });
    const ask = (holder: number, since: number | undefined) =>
      gate.step({ type: 'ask', holder, request: holder, pushes: 1, since }, 5, 0);
    expect(ask(1, 4)).toEqual([{ type: 'admit', request: 1 }]);
    expect(ask(2, undefined)).toEqual([]);
    expect(gate.step({ type: 'pushed', holder: 1 }, 6, 0)).toEqual([]);
    const releaseHold = { type: 'ask' as const, holder: 1, request: 3, pushes: 0, since: undefined };
    expect(gate.step(releaseHold, 6, 0)).toEqual([
      { type: 'admit', request: 3 },
      { type: 'admit', request: 2 },
    ]);
  });

  it('answers in time, and a repeated pull replaces the one before', () => {
    const gate = new StalenessGate({ bound: 0, patienceMs: 10 * ANSWER, answerWithinMs: ANSWER });
    const ask = (holder: number, request: number, now: number) =>
      gate.step({ type: 'ask', holder, request, pushes: 1, since: undefined }, 0, now);
    ask(1, 1, 0);
    expect(ask(2, 2, 0)).toEqual([]);
    expect(ask(2, 3, 10)).toEqual([{ type: 'askLater', request: 2 }]);
    expect(gate.heldUp(25)).toEqual({ pulls: 1, longestMs: 15, holders: [{ holder: 1, silentMs: 25 }] });
    expect(gate.nextDeadline()).toBe(10 + ANSWER);
    expect(gate.step({ type: 'tick' }, 0, 10 + ANSWER)).toEqual([{ type: 'askLater', request: 3 }]);
    expect(gate.waiting()).toBe(0);
    expect(gate.heldUp(10 + ANSWER)).toBeUndefined();
  });

  describe('in a standstill', () => {
    const STANDSTILL = 4 * PATIENCE;

    /** Trainer 1 renews its hold and pushes nothing; trainer 2 asks whenever it is sent away. */
    class Standstill {
      readonly gate = new StalenessGate({ bound: 0, patienceMs: PATIENCE, answerWithinMs: PATIENCE });
      version = 0;
      now = 0;
      #requests = 0;

      ask(holder: number, since?: number): GateEffect[] {
        this.#requests += 1;
        const request = this.#requests;
        return this.gate.step({ type: 'ask', holder, request, pushes: 1, since }, this.version, this.now);
      }

      /** Pushes of this trainer; a duplicate changes no version. */
      pushed(holder: number, isDuplicate = false): GateEffect[] {
        if (!isDuplicate) this.version += 1;
        return this.gate.step({ type: 'pushed', holder }, this.version, this.now);
      }

      /** Until trainer 2 is admitted. `renew` is called more often than the patience of the gate ends. */
      untilAdmitted(renew: (round: number) => void): number {
        const start = this.now;
        for (let round = 0; round < 100; round++) {
          if (this.ask(2).some(({ type }) => type === 'admit')) return this.now - start;
          this.now += PATIENCE / 2;
          renew(round);
        }
        throw new Error('trainer 2 is delayed for good');
      }
    }

    it('does not wait for good for one that renews its hold and pushes nothing', () => {
      const rig = new Standstill();
      rig.ask(1);
      expect(rig.untilAdmitted(() => rig.ask(1, 0))).toBe(STANDSTILL);
    });

    it('nor for one that comes back by other connections', () => {
      const rig = new Standstill();
      rig.ask(1);
      expect(rig.untilAdmitted((round) => rig.ask(10 + round, 0))).toBe(STANDSTILL);
    });

    it('lets it pull, without a hold until a push of it is applied', () => {
      const rig = new Standstill();
      rig.ask(1);
      rig.untilAdmitted(() => rig.ask(1, 0));
      rig.pushed(2);
      expect(rig.ask(1, 0)).toMatchObject([{ type: 'admit' }]);
      rig.pushed(1, true);
      expect(rig.ask(1, 0)).toMatchObject([{ type: 'admit' }]);
      rig.ask(2);
      expect(rig.gate.holders()).toBe(1);
      rig.pushed(1);
      rig.ask(1, 0);
      expect(rig.gate.holders()).toBe(2);
    });

    it('waits on while the version changes', () => {
      const rig = new Standstill();
      rig.ask(1);
      rig.now = STANDSTILL - 1;
      rig.ask(1, 0);
      rig.pushed(3);
      rig.now += STANDSTILL - 1;
      expect(rig.ask(1, 0)).toMatchObject([{ type: 'admit' }]);
      expect(rig.ask(2)).toEqual([]);
      rig.now += 1;
      expect(rig.gate.step({ type: 'tick' }, rig.version, rig.now)).toMatchObject([
        { type: 'expired', holder: 1, silentMs: STANDSTILL },
        { type: 'admit' },
      ]);
    });
  });
});
