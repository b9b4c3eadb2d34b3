/**
 * What a pserver in sync mode keeps beside the newest version: the one before it, and that of a cut (docs/modes.md,
 * §8).
 */

import { describe, expect, it } from 'vitest';
import { Held } from '../../../../../src/roles/pserver/held/held.ts';
import { PreImage, type ValueSource, withOldValues } from '../../../../../src/roles/pserver/held/pre-image.ts';
import { type RoundView, viewRound } from '../../../../../src/roles/pserver/modes/rounds/round-view.ts';
import { blockShards } from '../../../../../src/tensor/blocks.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';
import { type OptimizerSpec, trainedSpec } from '../../../../../src/tensor/optimizer.ts';
import type { Parameters } from '../../../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../../../src/tensor/shard-hash.ts';
import type { ParameterSpec } from '../../../../../src/tensor/spec.ts';
import * as fc from '../../../../properties.ts';
import { bytesOf, everything, HIGHEST, idBytes, makeParameters, SGD } from '../../../../tensor/fixture.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { anyRound, hexOf, laneFor, type PlainLane, ROUND_SPEC } from '../../../../tensor/rounds.ts';

const SHARDS = 5;
/** One shard is elsewhere. */
const HELD = [0, 1, 2, 4];
const router = createIdRouter({ shards: SHARDS });
const TRAINED = trainedSpec(ROUND_SPEC, { optimizer: SGD });
const start = (optimizer: OptimizerSpec): Parameters =>
  makeParameters({ spec: ROUND_SPEC, optimizer, seed: 3, shards: SHARDS, present: HELD });

function heldIn(parameters: Parameters, spec: ParameterSpec, shards: number, those: readonly number[]): Held {
  const held = new Held({ spec: trainedSpec(spec, { optimizer: SGD }), shards, tasks: 1 }, { parameters });
  held.hold(those, { ledgers: new Map(), seqs: new Map() });
  return held;
}

/** As a pserver applies a round. Returns the version before it. */
function apply(parameters: Parameters, lanes: readonly PlainLane[], views: readonly RoundView[]): ValueSource {
  const mine = lanes.map((lane) => laneFor(ROUND_SPEC, lane, { shards: SHARDS, held: HELD }));
  const held = heldIn(parameters, ROUND_SPEC, SHARDS, HELD);
  const before = parameters.withSum(mine, (sum) => {
    const round = sum.parts();
    for (const view of views) view.keep(round);
    return held.apply({ type: 'round', timeline: 0, round: 0, batches: [], ...round })!;
  });
  return withOldValues(parameters, [new PreImage({ spec: ROUND_SPEC, router, shards: SHARDS }, before)]);
}

/** Every id that a round may touch, and some that none does, twice where a pull may. */
const IDS = [...Array.from({ length: 40 }, (_, id) => BigInt(id)), HIGHEST, 2n ** 63n, 7n, 2n ** 63n - 1n, 7n];

/** All that can be pulled, as bits. */
function pulls(source: ValueSource): string[] {
  const sparse = ROUND_SPEC.sparse.map(({ name, width }, table) => {
    const ids = IDS.filter((id) => HELD.includes(shardOfRow(name, id, SHARDS)));
    const values = new Float32Array(ids.length * width);
    source.pullSparse(table, idBytes(ids), bytesOf(values));
    return hexOf(values);
  });
  const dense = ROUND_SPEC.dense.map((spec, parameter) => {
    const shards = blockShards(spec, SHARDS);
    const blocks = Uint32Array.from([...shards.keys()].filter((block) => HELD.includes(shards[block]!)));
    const values = new Float32Array(Math.min(blocks.length * 16_384, spec.shape[0]!));
    const used = [...blocks].reduce((sum, block) => sum + Math.min(16_384, spec.shape[0]! - block * 16_384), 0);
    source.pullDense(parameter, blocks, bytesOf(values.subarray(0, used)));
    return hexOf(values.subarray(0, used));
  });
  return [...sparse, ...dense];
}

const exported = (view: RoundView, parameters: Parameters): unknown =>
  everything(
    {
      shards: () => parameters.shards(),
      exportRows: (shard: number, table: number) => view.exportRows(shard, table),
      exportBlocks: (shard: number) => view.exportBlocks(shard),
    } as Parameters,
    ROUND_SPEC.sparse.length,
  );

const anyRounds = fc.array(anyRound(ROUND_SPEC, 3), { minLength: 2, maxLength: 6 });

describe.each(OPTIMIZERS)('$type', (optimizer) => {
  it('the version before a round is pulled as it was', () => {
    fc.assert(
      fc.property(anyRounds, (rounds) => {
        const parameters = start(optimizer);
        for (const lanes of rounds) {
          const before = pulls(parameters);
          const previous = apply(parameters, lanes, []);
          expect(pulls(previous)).toEqual(before);
          // Neither pull leaves a row behind.
          expect(pulls(previous)).toEqual(before);
        }
      }),
      { numRuns: 8 },
    );
  });

  it('shards of a cut are exported as they were, however many rounds later, also of two cuts at once', () => {
    fc.assert(
      fc.property(anyRounds, fc.nat(2), fc.nat(2), (rounds, first, second) => {
        const parameters = start(optimizer);
        const views: RoundView[] = [];
        const then: unknown[] = [];
        rounds.forEach((lanes, round) => {
          for (const at of [first, second]) {
            if (at !== round) continue;
            then.push(everything(parameters, ROUND_SPEC.sparse.length));
            views.push(viewRound(parameters, { spec: TRAINED, shards: SHARDS }));
          }
          apply(parameters, lanes, views);
          views.forEach((view, i) => {
            expect(exported(view, parameters)).toEqual(then[i]);
          });
        });
      }),
      { numRuns: 8 },
    );
  });
});

it('a cut before the first round has no rows', () => {
  const parameters = start(OPTIMIZERS[0]!);
  const view = viewRound(parameters, { spec: TRAINED, shards: SHARDS });
  const lane: PlainLane = {
    records: 2,
    dense: ROUND_SPEC.dense.map(({ shape }) => new Float32Array(shape[0]!).fill(1)),
    sparse: ROUND_SPEC.sparse.map(({ width }) => new Map(IDS.map((id) => [id, new Float32Array(width).fill(1)]))),
  };
  apply(parameters, [lane], [view]);
  expect(HELD.map((shard) => parameters.exportRows(shard, 0).ids.length).some((rows) => rows > 0)).toBe(true);
  for (const shard of HELD) expect(view.exportRows(shard, 0)).toMatchObject({ ids: new BigUint64Array(0) });
});

it('the version before a round is pulled as it was by ids in memory that grows in the pull', () => {
  const ids = Array.from({ length: 60_000 }, (_, id) => BigInt(id));
  const spec = { dense: [], sparse: [{ name: 'rows', width: 1, initializer: { type: 'zeros' as const } }] };
  const parameters = makeParameters({ spec, shards: 2, recallsPulls: true });
  const gradients = bytesOf(new Float32Array(ids.length).fill(1));
  const round = { dense: [], sparse: [{ table: 0, ids: idBytes(ids), gradients }] };
  const of = { spec, router: createIdRouter({ shards: 2 }), shards: 2 };
  const held = heldIn(parameters, spec, 2, [0, 1]);
  const before = held.apply({ type: 'round', timeline: 0, round: 0, batches: [], ...round })!;
  const source = withOldValues(parameters, [new PreImage(of, before)]);
  const staged = parameters.stage(8 * ids.length);
  staged.bytes().set(idBytes(ids));
  const sizes = new Set<number>();
  // Each pull keeps where it has found its rows, up to a bound: some of them make the memory grow.
  for (let pull = 0; pull < 20; pull++) {
    const values = new Float32Array(ids.length).fill(9);
    source.pullSparse(0, staged.bytes(), bytesOf(values));
    expect(values.every((value) => value === 0)).toBe(true);
    sizes.add(parameters.stats().reservedBytes);
  }
  expect(sizes.size).toBeGreaterThan(1);
});
