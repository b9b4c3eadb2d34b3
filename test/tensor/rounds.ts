/** Rounds to test with: what the lanes of a job bring, random, and how it comes to one pserver of several. */

import { blockLength, blockShards } from '../../src/tensor/blocks.ts';
import type { LaneGradients, Parameters, RoundGradients } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import * as fc from '../properties.ts';
import { blocksPart, bytesOf, HIGHEST, rowsPart } from './fixture.ts';
import { anyFloat } from './optimizers.ts';
import { joined } from './reference.ts';

/** A parameter of one block, one of two blocks, a narrow table and an odd one. */
export const ROUND_SPEC: ParameterSpec = {
  dense: [
    { name: 'bias', shape: [3], initializer: { type: 'constant', value: 0.25 } },
    { name: 'weights', shape: [16_384 + 5], initializer: { type: 'uniform', low: -1, high: 1 } },
  ],
  sparse: [
    { name: 'narrow', width: 1, initializer: { type: 'zeros' } },
    { name: 'odd', width: 6, initializer: { type: 'normal', mean: 0, stddev: 0.5 } },
  ],
};

const anyId = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 30 }).map(BigInt) },
  { weight: 1, arbitrary: fc.constantFrom(HIGHEST, 2n ** 63n, 2n ** 63n - 1n) },
);

/** Gradients as a lane has them: of all blocks, and of each row that its records touch. */
export interface PlainLane {
  readonly records: number;
  /** By parameter, whole. */
  readonly dense: readonly Float32Array[];
  /** By table. */
  readonly sparse: readonly ReadonlyMap<bigint, Float32Array>[];
}

const anyLane = (spec: ParameterSpec): fc.Arbitrary<PlainLane> =>
  fc
    .record({
      records: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 500 })),
      ids: fc.tuple(...spec.sparse.map(() => fc.uniqueArray(anyId, { maxLength: 12 }))),
      floats: fc.array(anyFloat, { minLength: 37, maxLength: 37 }),
    })
    .map(({ records, ids, floats }) => {
      let at = 0;
      const next = (): number => floats[at++ % floats.length]!;
      const row = (length: number): Float32Array => Float32Array.from({ length }, next);
      return {
        records,
        dense: spec.dense.map(({ shape }) => row(shape.reduce((product, size) => product * size, 1))),
        sparse: spec.sparse.map(({ width }, table) => new Map((ids[table] ?? []).map((id) => [id, row(width)]))),
      };
    });

export const anyRound = (spec: ParameterSpec, lanes = 4): fc.Arbitrary<PlainLane[]> =>
  fc.array(anyLane(spec), { minLength: 1, maxLength: lanes });

/** What of a lane goes to the pserver that has these shards; everything when none are named. */
export function laneFor(
  spec: ParameterSpec,
  lane: PlainLane,
  of?: { shards: number; held: readonly number[] },
): LaneGradients {
  const { records } = lane;
  if (records === 0) return { records, dense: [], sparse: [] };
  const isHere = (shard: () => number): boolean => of === undefined || of.held.includes(shard());
  const dense = spec.dense.flatMap((parameter, i) => {
    const shards = blockShards(parameter, of?.shards ?? 1);
    const blocks = [...shards.keys()].filter((block) => isHere(() => shards[block]!));
    if (blocks.length === 0) return [];
    const gradients = blocks.map((block) => {
      const from = block * 16_384;
      return lane.dense[i]!.subarray(from, from + blockLength(parameter, block));
    });
    return [blocksPart(i, blocks, joined(gradients))];
  });
  const sparse = spec.sparse.flatMap(({ name }, table) => {
    const ids = [...lane.sparse[table]!.keys()].filter((id) => isHere(() => shardOfRow(name, id, of!.shards)));
    if (ids.length === 0) return [];
    return [
      rowsPart(
        table,
        ids,
        ids.flatMap((id) => [...lane.sparse[table]!.get(id)!]),
      ),
    ];
  });
  return { records, dense, sparse };
}

export const sumOf = (parameters: Parameters, lanes: readonly LaneGradients[]): RoundGradients =>
  parameters.withSum(lanes, (sum) => sum.copy());

/** Ids of a part of a round. */
export const idsOf = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(new Uint8Array(bytes).buffer)];

export const hexOf = (floats: Float32Array): string => Buffer.from(bytesOf(floats)).toString('hex');
