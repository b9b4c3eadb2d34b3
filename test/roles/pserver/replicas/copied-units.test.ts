/** Copies of units that this pserver does not lead: the same as those that their primary has. */

import { describe, expect, it } from 'vitest';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import type { OptimizerSpec } from '../../../../src/tensor/optimizer.ts';
import * as fc from '../../../properties.ts';
import { makeParameters, SGD } from '../../../tensor/fixture.ts';
import { anyGradients, CopiedRig, type Gradients, SPEC, UNITS } from './copied-rig.ts';

const ADAM: OptimizerSpec = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };
const FTRL: OptimizerSpec = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.01, lambda2: 0.01 };
const ONES: Gradients = { ids: [1, 2, 3, 4, 5, 6, 7, 8, 9], block: 0, gradient: 1 };

const anyUnits = fc.subarray(UNITS, { minLength: 1 });
const anyUnit = fc.constantFrom(...UNITS);
const task = fc.nat(2);
const anyStep = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant('push' as const),
      task,
      units: anyUnits,
      gradients: anyGradients,
      early: anyUnits,
      rateScale: fc.constantFrom(1, 0.5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('close' as const), task, units: anyUnits }) },
  {
    weight: 3,
    arbitrary: fc.record({ act: fc.constantFrom('adopt' as const, 'leave' as const, 'lead' as const), unit: anyUnit }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

function carryOut(rig: CopiedRig, step: Step): void {
  const { copies } = rig;
  if (step.act === 'push') {
    const update = rig.push(step.task, step.units, step.gradients, step.rateScale);
    if (update === undefined) return;
    const units = rig.held(rig.unitsOf(update));
    // Some of the units get it earlier than the others, and then once more, which they do not take.
    const early = units.filter((unit) => step.early.includes(unit));
    expect(rig.apply(early, update)).toEqual([]);
    expect(rig.apply(units, update)).toEqual(early);
  } else if (step.act === 'close') {
    expect(rig.apply(rig.held(step.units), rig.close(step.task, step.units))).toEqual([]);
  } else if (!copies.units().includes(step.unit)) {
    rig.adopt(step.unit);
  } else if (step.act === 'leave') {
    copies.discard(step.unit);
  } else if (step.act === 'lead') {
    expect(rig.leadAndLeave(step.unit)).toEqual(rig.positionsOf(step.unit).led);
  }
}

describe('copies of units', () => {
  it.each([SGD, ADAM])('are what their primary has, in values, state, ledgers and positions: $type', (optimizer) => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 25, size: 'max' }), (steps) => {
        const rig = new CopiedRig(optimizer);
        for (const step of steps) {
          carryOut(rig, step);
          for (const unit of rig.copies.units()) {
            const { led, copied } = rig.positionsOf(unit);
            expect(copied).toEqual(led);
          }
        }
        const { led, copied } = rig.values();
        expect(copied).toEqual(led);
        for (const unit of rig.copies.units()) rig.copies.discard(unit);
        expect(rig.backup.parameters.shards()).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('take an update of many units with one push to the parameters', () => {
    const rig = new CopiedRig(SGD);
    for (const unit of UNITS) rig.adopt(unit);
    const { backup: parameters } = rig.memories;
    const push = parameters.push.bind(parameters);
    let pushes = 0;
    parameters.push = (...args) => {
      pushes += 1;
      push(...args);
    };
    expect(rig.apply(UNITS, rig.push(0, UNITS, ONES)!)).toEqual([]);
    expect(pushes).toBe(1);
  });

  it('take nothing of an update that is not their next one, and say which they are', () => {
    const rig = new CopiedRig(SGD);
    for (const unit of UNITS) rig.adopt(unit);
    const first = rig.push(0, UNITS, ONES)!;
    const second = rig.push(0, UNITS, ONES)!;
    const before = UNITS.map((unit) => rig.positionsOf(unit).copied);
    expect(rig.apply(UNITS, second)).toEqual(UNITS);
    // Unit 1 would have to take it with both of its shards.
    expect(rig.apply([1], { ...first, shards: [1] })).toEqual([1]);
    expect(UNITS.map((unit) => rig.positionsOf(unit).copied)).toEqual(before);
    expect(rig.apply([2], first)).toEqual([]);
    expect(rig.apply(UNITS, second)).toEqual([0, 1]);
    expect(rig.apply(UNITS, first)).toEqual([2]);
    expect(rig.apply([0, 1], second)).toEqual([]);
    for (const unit of UNITS) expect(rig.positionsOf(unit).copied).toEqual(rig.positionsOf(unit).led);
    expect(rig.values().copied).toEqual(rig.values().led);
    expect(rig.log.lines.join()).toContain('does not fit');
  });

  it('take an update with exactly those shards that lack it', () => {
    const rig = new CopiedRig(SGD);
    const { positions, rounds } = rig.filled(1).filled();
    const first = rig.push(0, UNITS, ONES)!;
    const second = rig.push(0, UNITS, ONES)!;
    const ahead = rig.primary.momentOf(1).ledger;
    // As from checkpoints: shard 1 has both of them.
    rig.copies.adopt(1, { positions: { ...positions, ledgers: new Map([...positions.ledgers, [1, ahead]]) }, rounds });
    for (const shards of [[1], [1, 4], []]) expect(rig.apply([1], { ...first, shards })).toEqual([1]);
    expect(rig.apply([1], { ...first, shards: [4, 9] })).toEqual([]);
    expect(rig.apply([1], { ...second, shards: [0, 4] })).toEqual([]);
    expect(rig.copies.positions(1)).toEqual({
      ledgers: new Map([1, 4].map((shard) => [shard, ahead])),
      looks: new Map(),
      seqs: new Map([
        [1, 0],
        [4, 2],
      ]),
    });
  });

  it('take no closure of a task with fewer records than they have', () => {
    const rig = new CopiedRig(SGD);
    for (const unit of UNITS) rig.adopt(unit);
    rig.apply([1], rig.push(0, [1], ONES)!);
    const before = rig.positionsOf(1).copied;
    const tasks = [
      { pass: 0, task: 1, records: 9 },
      { pass: 0, task: 0, records: 9 },
    ];
    expect(rig.apply([1, 2], { type: 'close', tasks })).toEqual([1]);
    expect(rig.positionsOf(1).copied).toEqual(before);
    expect(rig.copies.positions(2).seqs).toEqual(new Map([2, 5].map((shard) => [shard, 2])));
  });

  it('take nothing that the parameters refuse', () => {
    const rig = new CopiedRig(SGD);
    for (const unit of UNITS) rig.adopt(unit);
    const update = rig.push(0, UNITS, ONES)!;
    const [sparse] = update.sparse;
    const broken: Update = { ...update, sparse: [{ ...sparse!, gradients: new Uint8Array(4) }] };
    const before = UNITS.map((unit) => rig.positionsOf(unit).copied);
    expect(rig.apply(UNITS, broken)).toEqual(UNITS);
    expect(UNITS.map((unit) => rig.positionsOf(unit).copied)).toEqual(before);
    expect(rig.apply(UNITS, update)).toEqual([]);
  });

  it('take a scaled rate only where the optimizer has one', () => {
    for (const [optimizer, unfit] of [
      [SGD, []],
      [FTRL, [0]],
    ] as const) {
      const rig = new CopiedRig(optimizer);
      rig.adopt(0);
      const update = rig.push(0, UNITS, ONES)!;
      expect(rig.apply([0], { ...update, rateScale: 0.5 })).toEqual(unfit);
    }
  });

  it('take no round in async mode', () => {
    const rig = new CopiedRig(SGD);
    rig.adopt(0);
    const round = { type: 'round', timeline: 0, round: 0, batches: [], dense: [], sparse: [] } as const;
    expect(rig.apply([0], round)).toEqual([0]);
  });

  it('are taken once, with their memory, and an update of a unit without a copy fits none', () => {
    const rig = new CopiedRig(SGD);
    const { copies } = rig;
    const none = { positions: { ledgers: new Map(), seqs: new Map() }, rounds: undefined };
    expect(() => copies.adopt(0, none)).toThrow('the shards of unit 0 are present');
    rig.adopt(0);
    expect(() => copies.adopt(0, none)).toThrow('unit 0 is copied once');
    expect(rig.apply([0, 1], rig.push(0, UNITS, ONES)!)).toEqual([1]);
    expect(() => copies.positions(1)).toThrow('unit 1 is copied here');
  });

  it('are of no use in other parameters than theirs, and leave what is there alone', () => {
    const rig = new CopiedRig(SGD);
    rig.adopt(0);
    const old = rig.backup.parameters;
    const parameters = makeParameters({ spec: SPEC, shards: 6, present: [0, 3] });
    rig.backup.restate({ parameters, ledgers: new Map(), seqs: new Map() });
    expect(rig.apply([0], rig.push(0, UNITS, ONES)!)).toEqual([0]);
    rig.copies.discard(0);
    expect(parameters.shards()).toEqual([0, 3]);
    expect(old.shards()).toEqual([]);
  });
});
