/** The ledgers of many shards kept as few: the same as one ledger for each (docs/modes.md). */

import { describe, expect, it } from 'vitest';
import { CLOSED, createLedger, type Ledger, type PushPosition } from '../../../src/core/shard/ledger.ts';
import { decodeLedger } from '../../../src/core/shard/ledger-format.ts';
import { createShardLedgers } from '../../../src/core/shard/ledgers.ts';
import type { AppliedPushes } from '../../../src/core/shard/push-plan.ts';
import * as fc from '../../properties.ts';

const TASKS = 3;
const PASSES = 2;
const PUSHES = 3;
const SHARDS = [2, 5, 7, 11];

const pushAt = (pass: number, task: number, push: number): PushPosition => ({
  pass,
  task,
  push,
  last: push === PUSHES - 1,
  good: 10 * (push + 1),
});

const place = { pass: fc.nat(PASSES - 1), task: fc.nat(TASKS - 1) };
/** What each shard had applied when its checkpoint was taken: up to which push, by task. */
const checkpoints = fc.array(fc.array(fc.record({ ...place, pushes: fc.nat(PUSHES) }), { maxLength: PASSES * TASKS }), {
  minLength: SHARDS.length,
  maxLength: SHARDS.length,
});
const history = fc.array(
  fc.record({
    ...place,
    push: fc.nat(PUSHES - 1),
    kind: fc.constantFrom('wanted', 'wanted', 'wanted', 'any', 'close'),
    asked: fc.option(fc.subarray(SHARDS), { nil: undefined }),
    only: fc.option(fc.subarray(SHARDS), { nil: undefined }),
  }),
  { maxLength: 60, size: 'max' },
);

function ledgerOf(applied: readonly { pass: number; task: number; pushes: number }[]): Ledger {
  const ledger = createLedger(TASKS);
  for (const { pass, task, pushes } of applied) {
    for (let push = 0; push < pushes; push++) {
      if (ledger.judge(pushAt(pass, task, push)).outcome === 'apply') ledger.advance(pushAt(pass, task, push));
    }
  }
  return ledger;
}

const RECORDS = 10 * PUSHES * TASKS;

/** Of what would be saved of it. */
function plainPassesDone(ledger: Ledger): number {
  const { watermark, passes } = decodeLedger(ledger.encode());
  const records = passes.map(({ closedGood, discarded, open }) =>
    open.reduce((sum, [, , good]) => sum + good, closedGood + discarded),
  );
  return watermark + records.reduce((sum, some) => sum + some, 0) / RECORDS;
}

const byNumber = (a: number, b: number): number => a - b;

const appliedIn = (ledgers: readonly Ledger[], pass: number, task: number): AppliedPushes[] =>
  ledgers.flatMap((ledger) => {
    const next = ledger.position(pass, task);
    return next === CLOSED ? [] : [{ next, good: ledger.goodOf(pass, task) }];
  });

const asSet = (applied: readonly AppliedPushes[]): Set<string> => new Set(applied.map((one) => JSON.stringify(one)));

describe('shards loaded from checkpoints taken one by one', () => {
  it('each take what they lack and drop what they have, as if each had a ledger of its own', () => {
    fc.assert(
      fc.property(checkpoints, history, (loaded, acts) => {
        const own = new Map(SHARDS.map((shard, i) => [shard, ledgerOf(loaded[i]!)]));
        const saved = new Map([...own].map(([shard, ledger]) => [shard, ledger.encode()]));
        const all = createShardLedgers(TASKS, SHARDS, saved);
        for (const { kind, pass, task, push, asked, only } of acts) {
          const meant = asked ?? SHARDS;
          const openIn = SHARDS.filter((shard) => own.get(shard)!.position(pass, task) !== CLOSED);
          const lowestOf = (shards: readonly number[]): number => {
            const open = shards.filter((shard) => openIn.includes(shard));
            return open.length === 0 ? CLOSED : Math.min(...open.map((shard) => own.get(shard)!.position(pass, task)));
          };
          const lowest = lowestOf(meant);
          expect(all.position(pass, task)).toBe(lowestOf(SHARDS));
          expect([...all.openIn(pass, task)].sort(byNumber)).toEqual(openIn);
          if (kind === 'close') {
            for (const shard of meant) own.get(shard)!.close(pass, task, 10 * PUSHES);
            const closed = meant.filter((shard) => openIn.includes(shard));
            expect([...all.close(pass, task, 10 * PUSHES, asked)].sort(byNumber)).toEqual(closed);
          } else {
            const position = pushAt(pass, task, kind === 'wanted' && lowest !== CLOSED ? lowest : push);
            const wants = (shard: number): boolean => own.get(shard)!.judge(position).outcome === 'apply';
            const takers = meant.filter(wants);
            const verdict = all.judge(position, asked);
            if (lowest !== CLOSED && lowest < position.push)
              expect(verdict).toEqual({ outcome: 'early', want: lowest });
            else if (takers.length === 0) expect(verdict).toEqual({ outcome: 'duplicate' });
            else {
              expect(verdict.outcome).toBe('apply');
              const shards = verdict.outcome === 'apply' ? (verdict.shards ?? meant) : [];
              expect([...shards].sort(byNumber)).toEqual(takers);
              const told = only ?? asked;
              for (const shard of (told ?? SHARDS).filter(wants)) own.get(shard)!.advance(position);
              all.advance(position, told);
            }
          }
          const distinct = new Set([...own.values()].map((ledger) => Buffer.from(ledger.encode()).toString()));
          expect(all.groups()).toBeGreaterThanOrEqual(distinct.size);
          const applied = appliedIn(
            meant.map((shard) => own.get(shard)!),
            pass,
            task,
          );
          expect(asSet(all.applied(pass, task, asked))).toEqual(asSet(applied));
          for (const shard of SHARDS) expect(all.encode(shard)).toEqual(own.get(shard)!.encode());
          const least = Math.min(...[...own.values()].map((ledger) => ledger.account().applied));
          expect(all.account().applied).toBe(least);
          const done = Math.min(...[...own.values()].map((ledger) => plainPassesDone(ledger)));
          expect(all.passesDone(RECORDS)).toBe(done);
          expect(all.watermark()).toBe(Math.min(...[...own.values()].map((ledger) => ledger.watermark())));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('are one again when the repair has made them equal', () => {
    const own = SHARDS.map((_, i) => ledgerOf([{ pass: 0, task: 0, pushes: i % 2 === 0 ? PUSHES : 1 }]));
    const all = createShardLedgers(TASKS, SHARDS, new Map(SHARDS.map((shard, i) => [shard, own[i]!.encode()])));
    expect(all.groups()).toBe(2);
    for (let push = all.position(0, 0); push < PUSHES; push++) {
      expect(all.judge(pushAt(0, 0, push))).toEqual({ outcome: 'apply', shards: [5, 11] });
      all.advance(pushAt(0, 0, push));
    }
    expect(all.groups()).toBe(1);
    expect(all.closedTasks(0)).toEqual(['01']);
    expect(all.judge(pushAt(0, 1, 0))).toEqual({ outcome: 'apply', shards: undefined });
  });

  it('part when some of them are told alone, and are one again when the others are told', () => {
    const all = createShardLedgers(TASKS, SHARDS, new Map());
    all.advance(pushAt(0, 0, 0), [5, 7]);
    expect(all.groups()).toBe(2);
    expect(all.judge(pushAt(0, 0, 1), [7])).toEqual({ outcome: 'apply', shards: undefined });
    expect(all.judge(pushAt(0, 0, 0), [5, 7])).toEqual({ outcome: 'duplicate' });
    expect(all.judge(pushAt(0, 0, 0), [2, 5])).toEqual({ outcome: 'apply', shards: [2] });
    expect(all.judge(pushAt(0, 0, 1), [2, 5])).toEqual({ outcome: 'early', want: 0 });
    expect(all.judge(pushAt(0, 0, 1), [])).toEqual({ outcome: 'duplicate' });
    all.advance(pushAt(0, 0, 0), [2, 11]);
    expect(all.groups()).toBe(1);
    expect(all.close(0, 1, 30, [11])).toEqual([11]);
    expect(all.groups()).toBe(2);
    expect([...all.close(0, 1, 30)].sort(byNumber)).toEqual([2, 5, 7]);
    expect(all.groups()).toBe(1);
  });

  it('begin empty without a checkpoint, and refuse a damaged one', () => {
    expect(createShardLedgers(TASKS, SHARDS, new Map()).groups()).toBe(1);
    const damaged = new Map([[5, new Uint8Array([1, 2, 3])]]);
    expect(() => createShardLedgers(TASKS, SHARDS, damaged)).toThrow(
      expect.objectContaining({ code: 'CheckpointCorrupt' }),
    );
  });

  it('have their progress at once after a load, where it was when they were saved', () => {
    const ledger = ledgerOf([
      { pass: 0, task: 0, pushes: PUSHES },
      { pass: 0, task: 1, pushes: 2 },
      { pass: 1, task: 2, pushes: 1 },
    ]);
    ledger.close(0, 1, 10 * PUSHES);
    ledger.advance(pushAt(1, 2, 1));
    expect(ledger.passesDone(RECORDS)).toBe((30 + 30 + 20) / 90);
    const saved = new Map([[2, ledger.encode()]]);
    const all = createShardLedgers(TASKS, [2], saved);
    expect(all.passesDone(RECORDS)).toBe(80 / 90);
    all.advance(pushAt(0, 2, 0));
    all.advance(pushAt(0, 2, 1));
    all.advance(pushAt(0, 2, 2));
    // The first pass is complete.
    expect(all.passesDone(RECORDS)).toBe(1 + 20 / 90);
    // A shard that has done less comes, as from an older file.
    all.add([5], new Map([[5, ledger.encode()]]));
    expect(all.passesDone(RECORDS)).toBe(80 / 90);
    all.remove([5]);
    expect(all.passesDone(RECORDS)).toBe(1 + 20 / 90);
  });

  it('come and go with their own, and without any the next begin empty', () => {
    const half = ledgerOf([{ pass: 0, task: 0, pushes: 1 }]);
    const whole = ledgerOf([{ pass: 0, task: 0, pushes: PUSHES }]);
    const all = createShardLedgers(TASKS, [2], new Map([[2, whole.encode()]]));
    all.add(
      [5, 7],
      new Map([
        [5, half.encode()],
        [7, whole.encode()],
      ]),
    );
    expect(all.groups()).toBe(2);
    expect(all.judge(pushAt(0, 0, 1))).toEqual({ outcome: 'apply', shards: [5] });
    expect(all.encode(7)).toEqual(whole.encode());
    all.remove([5]);
    expect(all.groups()).toBe(1);
    expect(all.judge(pushAt(0, 0, 1))).toEqual({ outcome: 'duplicate' });
    expect(() => all.encode(5)).toThrow('shard 5 is one of these');
    all.remove([2, 7]);
    expect(all.position(0, 0)).toBe(0);
    all.add([11], new Map());
    expect(all.judge(pushAt(0, 0, 0))).toEqual({ outcome: 'apply', shards: undefined });
    expect(all.groups()).toBe(1);
  });

  it('that are damaged do not come', () => {
    const all = createShardLedgers(TASKS, [2], new Map());
    expect(() => all.add([5], new Map([[5, new Uint8Array([1])]]))).toThrow(
      expect.objectContaining({ code: 'CheckpointCorrupt' }),
    );
    expect(all.judge(pushAt(0, 0, 0))).toEqual({ outcome: 'apply', shards: undefined });
  });
});
