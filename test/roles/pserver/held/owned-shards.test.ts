/** The one owner of a pserver's shards: what it tells requests and checkpoints. */
import { describe, expect, it } from 'vitest';
import { isPaddletError } from '../../../../src/base/errors.ts';
import { stampOf } from '../../../../src/core/placement.ts';
import { CLOSED, createLedger } from '../../../../src/core/shard/ledger.ts';
import type { OwnedHead } from '../../../../src/roles/pserver/held/owned-heads.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { blockCount, blockLength, blockShards } from '../../../../src/tensor/blocks.ts';
import { trainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';
import { bytesOf, makeParameters, NORMAL, SGD } from '../../../tensor/fixture.ts';
import { ownedHeads } from './owned-heads.ts';

const SPEC: ParameterSpec = { dense: [{ name: 'w', shape: [400_000], initializer: NORMAL }], sparse: [] };
/** Unit 0 has shards 0 and 3, unit 1 has 1 and 4, unit 2 has 2. */
const JOB = { spec: trainedSpec(SPEC, { optimizer: SGD }), shards: 5, units: 3, tasks: 3 };
const HEADS = [
  { unit: 2, epoch: 1, led: 1 },
  { unit: 1, epoch: 7, led: 2 },
];
const OWNERS = blockShards(SPEC.dense[0]!, JOB.shards);

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

/** Shards of which an update may have gradients. */
const acceptedBy = (shards: OwnedShards): number[] =>
  Array.from({ length: JOB.shards }, (_, shard) => shard).filter((shard) => {
    try {
      shards.check(gradientOf(shard));
      return true;
    } catch (error) {
      if (!isPaddletError(error, 'WrongShard')) throw error;
      return false;
    }
  });

/** Of one block of the shard. */
function gradientOf(shard: number) {
  const block = OWNERS.indexOf(shard);
  const gradients = bytesOf(new Float32Array(blockLength(SPEC.dense[0]!, block)).fill(1));
  return { dense: [{ parameter: 0, blocks: Uint32Array.of(block), gradients }], sparse: [] };
}

const pushOf = (push: number, those: readonly number[]): Update => ({
  ...{ type: 'push', push: { pass: 0, task: 0, push, last: false, good: push }, shards: those, rateScale: 1 },
  ...{ dense: [], sparse: [] },
});

/** All shards apply an update that is counted. */
function pushed(shards: OwnedShards, push: number, those = shards.numbers): void {
  shards.apply(pushOf(push, those));
  shards.raiseVersion();
}

it('takes gradients of owned shards, and refuses those of others', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
  expect(acceptedBy(shards)).toEqual([1, 2, 4]);
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
  expect(shards.momentOf(4)).toEqual({ shard: 4, epoch: 7, seq: 12, ledger: ledger.encode() });
  expect(shards.momentOf(2).ledger).toEqual(createLedger(JOB.tasks).encode());
  pushed(shards, 0, [1, 2]);
  pushed(shards, 1);
  expect(shards.version).toBe(14);
  expect([1, 2, 4].map((shard) => shards.momentOf(shard))).toMatchObject([
    { epoch: 7, seq: 12 },
    { epoch: 1, seq: 2 },
    { epoch: 7, seq: 13 },
  ]);
  expect(() => shards.momentOf(3)).toThrow('shard 3 is owned');
});

const CLOSURE: Update = { type: 'close', tasks: [{ pass: 0, task: 0, records: 5 }] };

it('gives a closure a place in the order of the shards in which the task was open, and no version', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([[1, 10]]));
  shards.apply(CLOSURE);
  expect([1, 2, 4].map((shard) => shards.momentOf(shard).seq)).toEqual([11, 1, 1]);
  shards.apply(CLOSURE);
  expect(shards.momentOf(1).seq).toBe(11);
  expect(shards.version).toBe(10);
  expect(shards.committed.position(0, 0)).toBe(CLOSED);
});

it('closes a task in some shards, and later in the others', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([[1, 10]]));
  shards.apply(CLOSURE, [1, 4]);
  expect([1, 2, 4].map((shard) => shards.momentOf(shard).seq)).toEqual([11, 0, 1]);
  expect(shards.committed.position(0, 0)).toBe(0);
  shards.apply(CLOSURE, [2, 4]);
  expect([1, 2, 4].map((shard) => shards.momentOf(shard).seq)).toEqual([11, 1, 1]);
  expect(shards.committed.position(0, 0)).toBe(CLOSED);
});

it('raises the version once an update, with the last of its units', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
  const apply = (number: number, those: readonly number[], isLast: boolean): void => {
    shards.apply(pushOf(number, those));
    if (isLast) shards.raiseVersion();
  };
  apply(0, [1, 4], false);
  // The next one commits in a unit before the first one has in all.
  apply(1, [1, 4], false);
  expect(shards.version).toBe(0);
  apply(0, [2], true);
  expect(shards.version).toBe(1);
  apply(1, [], true);
  expect(shards.version).toBe(2);
  expect([1, 2, 4].map((shard) => shards.momentOf(shard).seq)).toEqual([2, 1, 2]);
  expect(shards.whyUnwanted({ pass: 0, task: 0, push: 1, last: false, good: 1 }, [2])).toBeUndefined();
});

it('knows the blocks of its shards', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
  const here = [...shards.blocks[0]!];
  expect(here.length).toBeGreaterThan(0);
  expect(here.length).toBeLessThan(blockCount(SPEC.dense[0]!));
  expect(here).toEqual([...OWNERS.keys()].filter((block) => [1, 2, 4].includes(OWNERS[block]!)));
});

it('keeps the heads in another state of the shards', () => {
  const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([[1, 10]]));
  const other = stateOf([
    [1, 3],
    [2, 3],
    [4, 3],
  ]);
  const { stamp } = shards;
  shards.restate(other);
  pushed(shards, 0);
  expect(shards.stamp).toEqual(stamp);
  expect(shards.parameters).toBe(other.parameters);
  expect([shards.momentOf(4), shards.version]).toMatchObject([{ epoch: 7, seq: 4 }, 4]);
});

describe('a unit', () => {
  const nextOf = (unit: number, epoch: number): OwnedHead => {
    const me = { index: 0, token: '7' };
    return { unit, head: { epoch, led: epoch, primary: me, inSync: [me] }, modRevision: 9n };
  };
  const positions = (seqs: readonly (readonly [number, number])[] = []) => ({
    seqs: new Map(seqs),
    ledgers: new Map(),
  });
  const addedTo = (shards: OwnedShards): void => {
    for (const shard of [0, 3]) shards.parameters.addShard(shard);
  };

  it('that comes is in all that is asked, with its own position', () => {
    const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([[1, 4]]));
    expect(shards.blocks[0]!.length).toBeGreaterThan(0);
    const before = shards.stamp;
    const bytes = shards.stats().bytes;
    addedTo(shards);
    // Memory that is being filled is not owned yet.
    expect(shards.stats()).toMatchObject({ shards: 3, bytes });
    expect(acceptedBy(shards)).toEqual([1, 2, 4]);
    shards.add(
      nextOf(0, 5),
      positions([
        [0, 40],
        [3, 41],
      ]),
      true,
    );
    expect(shards.numbers).toEqual([0, 1, 2, 3, 4]);
    expect(shards.stamp).toEqual(stampOf([...HEADS, { unit: 0, led: 5 }], JOB));
    expect(shards.stamp).not.toEqual(before);
    expect(acceptedBy(shards)).toEqual([0, 1, 2, 3, 4]);
    expect(shards.blocks[0]!.length).toBe(blockCount(SPEC.dense[0]!));
    expect(shards.stats()).toMatchObject({ units: 3, shards: 5 });
    expect(shards.unitBytes().map(({ unit }) => unit)).toEqual([0, 1, 2]);
    expect(shards.unitBytes().reduce((sum, one) => sum + one.bytes, 0)).toBe(shards.stats().bytes);
    expect(shards.stats().bytes).toBeGreaterThan(bytes);
    pushed(shards, 0);
    expect(shards.momentOf(3)).toMatchObject({ epoch: 5, seq: 42 });
    expect(shards.momentOf(1)).toMatchObject({ seq: 5 });
  });

  it('that leaves takes its memory along', () => {
    const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
    shards.remove(1);
    expect(shards.numbers).toEqual([2]);
    expect(shards.parameters.shards()).toEqual([2]);
    expect(shards.stamp).toEqual(stampOf([HEADS[0]!], JOB));
    expect(acceptedBy(shards)).toEqual([2]);
    expect(() => shards.momentOf(4)).toThrow('shard 4 is owned');
    shards.remove(2);
    expect(shards.stamp).toEqual({ revision: '0', shards: 0 });
  });

  it('that another pserver leads keeps its memory, and is led again with what it had', () => {
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
    const before = [1, 4].map((shard) => shards.momentOf(shard));
    const left = shards.release(1);
    expect(shards.numbers).toEqual([2]);
    expect(shards.stamp).toEqual(stampOf([HEADS[0]!], JOB));
    expect(acceptedBy(shards)).toEqual([2]);
    expect(shards.ledgers.groups()).toBe(1);
    expect(shards.parameters.shards().sort()).toEqual([1, 2, 4]);
    shards.add(nextOf(1, 7), left, true);
    expect([1, 4].map((shard) => shards.momentOf(shard))).toEqual(before);
  });

  it('that comes back has another stamp', () => {
    const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
    const before = shards.stamp;
    shards.remove(2);
    shards.parameters.addShard(2);
    shards.add(nextOf(2, 3), positions(), true);
    expect(shards.stamp.shards).toBe(before.shards);
    expect(shards.stamp.revision).not.toBe(before.revision);
  });

  it('that moves changes nothing of how old pulled values are; one that is loaded does', () => {
    const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([[1, 10]]));
    const { revision } = shards.stamp;
    pushed(shards, 0);
    addedTo(shards);
    shards.add(nextOf(0, 5), positions([[0, 1_000]]), true);
    expect(shards.version).toBe(11);
    expect(shards.isComparable(revision)).toBe(true);
    shards.remove(0);
    expect(shards.isComparable(revision)).toBe(true);
    expect(shards.isComparable('12345')).toBe(false);
    addedTo(shards);
    shards.add(nextOf(0, 8), positions(), false);
    expect(shards.isComparable(revision)).toBe(false);
    expect(shards.isComparable(shards.stamp.revision)).toBe(true);
  });

  it('comes only with its memory, and once', () => {
    const shards = new OwnedShards(JOB, ownedHeads(HEADS), stateOf([]));
    expect(() => shards.add(nextOf(0, 5), positions(), true)).toThrow('the shards of unit 0 are present');
    expect(() => shards.add(nextOf(1, 9), positions(), true)).toThrow('unit 1 is owned once');
    expect(() => shards.remove(0)).toThrow('unit 0 is owned');
  });
});
