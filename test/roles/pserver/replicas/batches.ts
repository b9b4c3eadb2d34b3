/** Batches between two pservers, drawn at random. */

import { expect } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { UpdateName } from '../../../../src/core/replicas/messages.ts';
import type { LinkFrame, PeerBatch } from '../../../../src/core/replicas/peer-link.ts';
import type { BatchEnds } from '../../../../src/roles/pserver/replicas/replicate-codec.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import * as fc from '../../../properties.ts';
import { drawnUpdate, PARTS, UNITS } from './updates.ts';

export type Batch = PeerBatch<SharedUpdate>;
export type Frame = LinkFrame<SharedUpdate>;

/** What the stages share. */
export function payloadOf({ frames }: Batch): SharedUpdate | undefined {
  const payloads = frames.flatMap(({ frame }) => (frame.type === 'stage' ? [frame.update.payload] : []));
  expect(new Set(payloads).size).toBeLessThanOrEqual(1);
  return payloads[0];
}

const count = fc.maxSafeNat();
const epoch = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const token = fc.bigInt(0n, 2n ** 64n - 1n).map(String);
const owner = fc.record({ index: fc.nat(LIMITS.pservers - 1), token });

/** Ascending, from `base` on, each in an epoch up to this one. */
const tailOf = (base: number, most: number): fc.Arbitrary<UpdateName[]> =>
  fc
    .array(fc.integer({ min: 1, max: most }), { maxLength: 12 })
    .map((epochs) => epochs.sort((a, b) => a - b).map((one, at) => ({ position: base + at + 1, epoch: one })));

const begin = (most: number) =>
  fc.nat(2 ** 40).chain((base) =>
    fc.record({ type: fc.constant('begin' as const), base: fc.constant(base), tail: tailOf(base, most) }).chain((one) =>
      fc.record({
        ...{ type: fc.constant(one.type), base: fc.constant(one.base), tail: fc.constant(one.tail) },
        committed: fc.nat(base + one.tail.length),
      }),
    ),
  );
const commit = fc.record({ type: fc.constant('commit' as const), committed: count });
const stage = (payload: SharedUpdate, most: number) =>
  fc
    .record({ position: epoch, epoch: fc.integer({ min: 1, max: most }), committed: count })
    .map(({ position, epoch: placed, committed }): Frame['frame'] => {
      return { type: 'stage', update: { name: { position, epoch: placed }, payload }, committed };
    });

function framesOf(
  ends: BatchEnds,
  payload: SharedUpdate | undefined,
  staged: readonly number[],
): fc.Arbitrary<Frame[]> {
  const units = fc.shuffledSubarray(
    Array.from({ length: UNITS }, (_, unit) => unit).filter((unit) => !staged.includes(unit)),
  );
  return fc.tuple(fc.shuffledSubarray([...staged], { minLength: staged.length }), units).chain(([stages, others]) =>
    fc.tuple(
      ...[...stages, ...others].map((unit) =>
        epoch.chain((of) => {
          const frame: fc.Arbitrary<Frame['frame']> = staged.includes(unit)
            ? stage(payload!, of)
            : fc.oneof(begin(of), commit);
          return frame.map((one): Frame => ({ link: { unit, epoch: of, ...ends }, frame: one }));
        }),
      ),
    ),
  );
}

export interface DrawnBatch {
  readonly ends: BatchEnds;
  readonly batch: Batch;
  /** Where the update is staged: in some of its units, or none. */
  readonly staged: readonly number[];
}

const left = fc.uniqueArray(fc.nat(UNITS - 1));
export const drawnBatch: fc.Arbitrary<DrawnBatch> = fc
  .record({ primary: owner, member: owner, drawn: fc.option(drawnUpdate, { nil: undefined }), left, order: epoch })
  .chain(({ primary, member, drawn, left: units, order }) => {
    const ends = { primary, member };
    const payload = drawn && new SharedUpdate({ of: PARTS, order, ...drawn });
    return fc.subarray([...(payload?.units ?? [])], { minLength: payload === undefined ? 0 : 1 }).chain((staged) =>
      fc.record({
        ...{ ends: fc.constant(ends), staged: fc.constant(staged) },
        batch: fc.record({
          left: fc.constant(units),
          frames: framesOf(ends, payload, staged),
          order: fc.constant(payload === undefined ? 0 : order),
          isLate: payload === undefined ? fc.constant(false) : fc.boolean(),
        }),
      }),
    );
  });
