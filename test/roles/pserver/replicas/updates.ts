/** Updates of a small model whose rows and blocks are in many units, drawn at random. */

import { shardsOfUnit, unitOf } from '../../../../src/core/units/units.ts';
import type { UnitParts } from '../../../../src/roles/pserver/update/parts.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { blockCount, blockLength, blockShards, denseBlockFloats } from '../../../../src/tensor/blocks.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import type { RoundGradients } from '../../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../../src/tensor/shard-hash.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';
import * as fc from '../../../properties.ts';
import { bytesOf, idBytes, NORMAL } from '../../../tensor/fixture.ts';

const SHARDS = 16;
export const UNITS = 6;
export const TASKS = 6;
export const PASSES = 3;

const SPEC: ParameterSpec = {
  dense: [
    { name: 'w', shape: [4, denseBlockFloats], initializer: NORMAL },
    { name: 'b', shape: [5], initializer: NORMAL },
  ],
  sparse: [
    { name: 'users', width: 2, initializer: NORMAL },
    { name: 'items', width: 3, initializer: NORMAL },
  ],
};

export const PARTS: UnitParts = {
  spec: SPEC,
  shards: SHARDS,
  units: UNITS,
  router: createIdRouter({ shards: SHARDS }),
};

const ALL_UNITS = Array.from({ length: UNITS }, (_, unit) => unit);

export const unitOfRow = (table: number, id: bigint): number =>
  unitOf(shardOfRow(SPEC.sparse[table]!.name, id, SHARDS), UNITS);
export const shardOfRowIn = (table: number, id: bigint): number => shardOfRow(SPEC.sparse[table]!.name, id, SHARDS);
export const shardOfBlockIn = (parameter: number, block: number): number =>
  blockShards(SPEC.dense[parameter]!, SHARDS)[block]!;

const someOf = <T>(all: readonly T[], minLength = 0) => fc.subarray([...all], { minLength });

/** Each row and block that a list names, with a value of its own. */
export function gradientsOf(
  dense: readonly { readonly parameter: number; readonly blocks: readonly number[] }[],
  sparse: readonly { readonly table: number; readonly ids: readonly bigint[] }[],
): RoundGradients {
  return {
    dense: dense.map(({ parameter, blocks }) => {
      const floats = blocks.flatMap((block) =>
        Array.from({ length: blockLength(SPEC.dense[parameter]!, block) }, () => block + 0.5),
      );
      return { parameter, blocks: Uint32Array.from(blocks), gradients: bytesOf(Float32Array.from(floats)) };
    }),
    sparse: sparse.map(({ table, ids }) => {
      const { width } = SPEC.sparse[table]!;
      const floats = ids.flatMap((id) => Array.from({ length: width }, () => Number(id % 1000n)));
      return { table, ids: idBytes(ids), gradients: bytesOf(Float32Array.from(floats)) };
    }),
  };
}

const blocks = fc.tuple(
  ...SPEC.dense.map((dense, parameter) =>
    someOf(Array.from({ length: blockCount(dense) }, (_, block) => block)).map((list) => ({ parameter, blocks: list })),
  ),
);
const rows = fc.tuple(
  ...SPEC.sparse.map((_, table) =>
    fc.uniqueArray(fc.bigInt(0n, 2n ** 64n - 1n), { maxLength: 40 }).map((ids) => ({ table, ids })),
  ),
);
const gradients = fc.tuple(blocks, rows).map(([dense, sparse]) => gradientsOf(dense, sparse));

const count = fc.maxSafeNat();
/** Headers carry numbers: −0 arrives as 0. */
const real = fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one));
const task = { pass: fc.nat(PASSES - 1), task: fc.nat(TASKS - 1) };
const position = fc.record({ ...task, push: count, last: fc.boolean(), good: count });
const metrics = fc.record({ records: count, weight: real, loss: real, correct: real, squaredError: real });

const allShards = Array.from({ length: SHARDS }, (_, shard) => shard);
const push: fc.Arbitrary<Update> = fc
  .record({
    push: position,
    shards: someOf(allShards, 1),
    rateScale: fc.double({ min: 0, max: 1, minExcluded: true, noNaN: true }),
    of: gradients,
  })
  .map(({ of, ...fields }) => ({ type: 'push', ...fields, ...of }));
const close: fc.Arbitrary<Update> = fc.record({
  type: fc.constant('close' as const),
  tasks: fc.array(fc.record({ ...task, records: count }), { maxLength: 5 }),
});
const round: fc.Arbitrary<Update> = fc
  .record({
    timeline: count,
    round: count,
    batches: fc.array(fc.record({ position, metrics }), { maxLength: 4 }),
    of: gradients,
  })
  .map(({ of, ...fields }) => ({ type: 'round', ...fields, ...of }));

export interface DrawnUpdate {
  readonly update: Update;
  readonly units: readonly number[];
}

/** With rows and blocks of any unit, and where it is placed: a push in a unit that applies it. */
export const drawnUpdate: fc.Arbitrary<DrawnUpdate> = fc.oneof(push, close, round).chain((update) =>
  fc.record({
    update: fc.constant(update),
    units: someOf(
      update.type === 'push' ? [...new Set(update.shards.map((shard) => unitOf(shard, UNITS)))] : ALL_UNITS,
      1,
    ),
  }),
);

/** The shards of a unit that apply the update. */
export const applyingOf = (update: Update, unit: number): number[] =>
  shardsOfUnit(unit, PARTS).filter((shard) => update.type !== 'push' || update.shards.includes(shard));
