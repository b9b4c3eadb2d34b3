/** A base and three deltas, one of them lost: commands that read files name it, and read nothing half. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ShardPosition } from '../../../src/checkpoint/file/format.ts';
import type { CheckpointReader } from '../../../src/checkpoint/file/reader.ts';
import { listGenerations } from '../../../src/checkpoint/registry/listing.ts';
import { openCheckpointSet } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { followParents } from '../../../src/checkpoint/set/shard-source.ts';
import { expectIntact, verifyCheckpoint } from '../../../src/checkpoint/set/verify.ts';
import { type Chain, DAMAGES, FILES, pathOf, saveChain } from '../chain-fixture.ts';
import { PLACE, uuidOf } from '../fixture.ts';

let chain: Chain;
beforeEach(async () => {
  chain = await saveChain();
});

const refs = FILES.map((number) => ({ path: pathOf(number), index: PLACE.index, uuid: uuidOf(number) }));
const published = () =>
  refs.map((ref) => ({ ...ref, published: chain.generations.find(({ uuid }) => uuid === ref.uuid)! }));

it('one file that is named is listed alone', async () => {
  const listed = await listGenerations({ storage: chain.disk.storage, files: [{ path: pathOf(4) }] });
  expect(listed).toMatchObject([{ kind: 'delta', state: 'running', complaint: undefined }]);
});

it('files are listed as sound whatever the clock said when they were written', async () => {
  const { storage } = chain.disk;
  const backwards = refs.toReversed();
  const listed = await listGenerations({ storage, files: backwards, published: [] });
  expect(listed.map(({ state }) => state)).toEqual(FILES.map(() => 'running'));
});

it('all files are sound, and the newest one is read with the others', async () => {
  const { storage } = chain.disk;
  expect(await verifyCheckpoint({ storage, files: published() })).toMatchObject({ ok: true, missing: [] });
  const set = await openCheckpointSet(storage, [refs[3]!]);
  expect(set.parts.map(({ uuid }) => uuid)).toEqual([4, 3, 2, 1].map(uuidOf));
  expect(set.shards.map(({ links }) => links.length)).toEqual([4, 4, 2]);
  await set.close();
  const listed = await listGenerations({ storage, files: published() });
  expect(listed.map(({ kind, state, parents }) => [kind, state, parents])).toEqual([
    ['delta', 'running', [uuidOf(3)]],
    ['delta', 'running', [uuidOf(2)]],
    ['delta', 'running', [uuidOf(1)]],
    ['base', 'running', []],
  ]);
});

describe.each(Object.entries(DAMAGES))('a file that is %s', (what, { code, damage }) => {
  it.each(FILES)('number %d', async (number) => {
    const { disk } = chain;
    const { storage } = disk;
    await damage(disk, number);
    const { ok, files, missing } = await verifyCheckpoint({ storage, files: published() });
    expect(ok).toBe(false);
    expect(files.map(({ problems }) => problems.length > 0)).toEqual(FILES.map((one) => one >= number));
    for (const { problems, path } of files.slice(number)) {
      expect(problems).toMatchObject([{ part: 'parents' }]);
      expect(problems[0]!.message).toContain(`builds on ${uuidOf(number)}, which is missing or damaged`);
      expect(path).not.toBe(pathOf(number));
    }
    expect(missing.length).toBe(number === 1 ? 3 : 0);

    const opening = openCheckpointSet(storage, refs.slice(3)).then(async (set) => {
      await expectIntact(set).finally(() => set.close());
    });
    await expect(opening).rejects.toMatchObject({ code });
    await expect(opening).rejects.toThrow(new RegExp(uuidOf(number)));

    const listed = await listGenerations({ storage, files: published() });
    const states = new Map(listed.map(({ path, state, complaint }) => [path, { state, complaint }]));
    // Reads headers only.
    if (what === 'damaged' || what === 'another one') return;
    for (const one of FILES) {
      const { state, complaint } = states.get(pathOf(one))!;
      const expected = one < number ? 'running' : one === number && what === 'missing' ? 'missing' : 'damaged';
      expect(state, `file ${one}`).toBe(expected);
      if (one === number + 1) expect(complaint).toBe(`builds on ${uuidOf(number)}, which is missing or damaged`);
    }
  });
});

describe('a file that a shard builds on', () => {
  const position = (seq: number, parent?: { uuid: string; seq: number }): ShardPosition => {
    return { shard: 0, epoch: 1, seq, ...(parent && { parent }) };
  };
  const reader = (path: string, positions: readonly ShardPosition[]) =>
    ({ path, positionOf: (shard: number) => positions.find((one) => one.shard === shard) }) as CheckpointReader;
  const tip = position(9, { uuid: 'base', seq: 5 });
  const follow = (base: CheckpointReader) => followParents(reader('tip', [tip]), tip, () => base);

  it('must have the shard after the same update', () => {
    expect(follow(reader('base', [position(5)])).links.map(({ path }) => path)).toEqual(['tip', 'base']);
    expect(() => follow(reader('base', [position(6)]))).toThrow('which has it after update 6 of epoch 1');
    expect(() => follow(reader('base', [{ ...position(5), epoch: 2 }]))).toThrow('after update 5 of epoch 2');
    expect(() => follow(reader('base', []))).toThrow('which does not have it');
  });

  it('must not build on itself', () => {
    expect(() => follow(reader('base', [position(5, { uuid: 'base', seq: 5 })]))).toThrow('builds on update 5 in base');
  });

  it('has the dense blocks if no update came since', () => {
    const same = position(5, { uuid: 'base', seq: 5 });
    const base = reader('base', [position(5)]);
    expect(followParents(reader('tip', [same]), same, () => base).blocksIn.path).toBe('base');
    expect(follow(base).blocksIn.path).toBe('tip');
  });
});
