/** The one owner of a pserver's shards: what it tells requests and checkpoints. */
import { expect, it } from 'vitest';
import { stampOf } from '../../../src/core/placement.ts';
import { createLedger } from '../../../src/core/shard/ledger.ts';
import { OwnedShards } from '../../../src/roles/pserver/shards.ts';
import { blockCount, blockShards } from '../../../src/tensor/blocks.ts';
import { SHARD_ACTION } from '../../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';
import { makeParameters, NORMAL } from '../../tensor/fixture.ts';
import { ownedHeads } from './owned-heads.ts';

const SPEC: ParameterSpec = { dense: [{ name: 'w', shape: [400_000], initializer: NORMAL }], sparse: [] };
/** Unit 0 has shards 0 and 3, unit 1 has 1 and 4, unit 2 has 2. */
const JOB = { spec: SPEC, shards: 5, units: 3, tasks: 3 };
const HEADS = [
  { unit: 2, epoch: 1, led: 1 },
  { unit: 1, epoch: 7, led: 2 },
];
const { absent, apply, skip } = SHARD_ACTION;

const stateOf = (
  seqs: readonly (readonly [number, number])[],
  ledgers: readonly (readonly [number, Uint8Array])[] = [],
) => ({
  parameters: makeParameters({ spec: SPEC, shards: 5, present: [1, 2, 4] }),
  seqs: new Map(seqs),
  ledgers: new Map(ledgers),
});

it('names the set by its units, since when each is led, and the count of their shards', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
  expect(shards.numbers).toEqual([1, 2, 4]);
  expect(shards.heads.units()).toEqual([1, 2]);
  expect(shards.stamp).toEqual(stampOf(HEADS, JOB));
  expect(shards.stats()).toMatchObject({ units: 2, shards: 3, bytes: shards.parameters.stats().bytes });
});

it('applies an update to all owned shards or to some, and refuses the others', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
  expect([...shards.actions(undefined)]).toEqual([absent, apply, apply, absent, apply]);
  expect([...shards.actions([4])]).toEqual([absent, skip, skip, absent, apply]);
  expect([...shards.actions(undefined)]).toEqual([absent, apply, apply, absent, apply]);
});

it('counts from where the shards were loaded, and tells checkpoints the position of each', () => {
  const ledger = createLedger(JOB.tasks);
  ledger.advance({ pass: 0, task: 0, push: 0, last: false, good: 5 });
  const shards = new OwnedShards(
    JOB,
    ownedHeads(HEADS),
    stateOf(
      [
        [1, 10],
        [4, 12],
      ],
      [[4, ledger.encode()]],
    ),
  );
  expect(shards.version).toBe(12);
  shards.advance(undefined);
  shards.advance([1]);
  expect(shards.version).toBe(14);
  expect(shards.momentOf(1)).toEqual({ shard: 1, epoch: 7, seq: 12, ledger: createLedger(JOB.tasks).encode() });
  expect(shards.momentOf(2)).toMatchObject({ epoch: 1, seq: 1 });
  expect(shards.momentOf(4)).toEqual({ shard: 4, epoch: 7, seq: 13, ledger: ledger.encode() });
  expect(() => shards.momentOf(3)).toThrow('shard 3 is owned');
});

it('knows the blocks of its shards', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
  const [dense] = SPEC.dense;
  const owners = blockShards(dense!, JOB.shards);
  const here = [...shards.blocks[0]!];
  expect(here.length).toBeGreaterThan(0);
  expect(here.length).toBeLessThan(blockCount(dense!));
  expect(here).toEqual([...owners.keys()].filter((block) => [1, 2, 4].includes(owners[block]!)));
});

it('keeps the heads in another state of the shards, and the old state as it was', () => {
  const before = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([[1, 10]]));
  const other = stateOf([
    [1, 3],
    [2, 3],
    [4, 3],
  ]);
  const after = before.inState(other);
  after.advance(undefined);
  expect(after.stamp).toEqual(before.stamp);
  expect(after.parameters).toBe(other.parameters);
  expect(after.momentOf(4)).toMatchObject({ epoch: 7, seq: 4 });
  expect(before.momentOf(1)).toMatchObject({ epoch: 7, seq: 10 });
});
