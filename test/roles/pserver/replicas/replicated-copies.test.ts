/** Updates that reach copies over the wire make of them what their primary has, bit for bit. */

import { expect, it } from 'vitest';
import {
  decodeBatch,
  encodeBatch,
  type ReplicateRequest,
} from '../../../../src/roles/pserver/replicas/replicate-codec.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import * as fc from '../../../properties.ts';
import { SGD } from '../../../tensor/fixture.ts';
import { payloadOf } from './batches.ts';
import { anyGradients, CopiedRig, SPEC, UNITS } from './copied-rig.ts';
import { arrived, ENDS, FIELDS, OWN_ORDER } from './wire-rig.ts';

const SHARDS = 6;
const OF = { spec: SPEC, shards: SHARDS, units: UNITS.length, router: createIdRouter({ shards: SHARDS }) };
const JOB = { ...OF, tasks: 3, passes: 1 };

const anyUnits = fc.subarray(UNITS, { minLength: 1 });
const anyStep = fc.record({
  task: fc.nat(2),
  closes: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
  units: anyUnits,
  gradients: anyGradients,
});

/** What a backup makes of an update that is placed in some units, of which it has copies of these. */
function received(update: Update, placed: readonly number[], held: readonly number[]): SharedUpdate {
  const payload = new SharedUpdate({ of: OF, order: 1, update, units: placed });
  const frames = held.map((unit) => {
    const frame = { type: 'stage', update: { name: { position: 1, epoch: 1 }, payload }, committed: 0 } as const;
    return { link: { unit, epoch: 1, ...ENDS }, frame };
  });
  const { header, segments } = encodeBatch(FIELDS, ENDS, { left: [], frames, order: 1, isLate: false });
  const request = arrived<ReplicateRequest>(header, segments);
  const came = payloadOf(decodeBatch(JOB, request, OWN_ORDER).batch)!;
  came.own();
  request.overwrite();
  return came;
}

it('copies that follow over the wire are what their primary has', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 20, size: 'max' }), anyUnits, (steps, held) => {
      const rig = new CopiedRig(SGD);
      for (const unit of held) rig.adopt(unit);
      for (const { task, closes, units, gradients } of steps) {
        const update = closes ? rig.close(task, units) : rig.push(task, units, gradients);
        if (update === undefined) continue;
        const placed = update.type === 'push' ? rig.unitsOf(update) : units;
        const staged = rig.held(placed);
        if (staged.length > 0) expect(rig.copies.apply(staged, received(update, placed, staged))).toEqual([]);
      }
      for (const unit of held) {
        const { led, copied } = rig.positionsOf(unit);
        expect(copied).toEqual(led);
      }
      const { led, copied } = rig.values();
      expect(copied).toEqual(led);
    }),
    { numRuns: 30 },
  );
});
