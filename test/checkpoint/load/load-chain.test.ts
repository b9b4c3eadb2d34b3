/**
 * A base and three deltas: whatever happens to one of the files, the best state behind it is loaded whole, and the
 * complaint names the file.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { loadFirstUsable } from '../../../src/checkpoint/load/load.ts';
import type { CheckpointEntry } from '../../../src/checkpoint/registry/entry.ts';
import { newestFirst, publishedFiles } from '../../../src/checkpoint/registry/newest.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import { ALL, type Chain, DAMAGES, EXPECTED, FILES, pathOf, saveChain } from '../chain-fixture.ts';
import { PLACE, uuidOf } from '../fixture.ts';

let chain: Chain;
beforeEach(async () => {
  chain = await saveChain();
});

/** Loads the best there is: by shard, the file whose state it has; 0 for none. */
async function load({
  disk,
  generations,
  states,
}: Chain): Promise<{ readonly loaded: number[]; readonly complaints: string[] }> {
  const { parameters: spec, seed, shards } = EXPECTED;
  const into = createParameters({ spec, seed, shards });
  const [newest, ...earlier] = generations;
  const entry: CheckpointEntry = { ...newest!, keep: 1, generations: earlier };
  const filesOf = newestFirst(publishedFiles([{ index: PLACE.index, entry }]), ALL);
  const options = { storage: disk.storage, folder: PLACE.folder, expected: EXPECTED, into };
  const outcome = await loadFirstUsable(filesOf, options);
  const loaded = ALL.map((shard) => {
    if (outcome.lost.includes(shard)) {
      expect(into.hasShard(shard)).toBe(false);
      return 0;
    }
    const part = outcome.parts.find((one) => one.loaded.positions.some((position) => position.shard === shard))!;
    const number = Number(BigInt(`0x${part.file.generation.uuid.slice(-12)}`));
    expect(into.exportRows(shard, 0)).toEqual(states.get(number)![shard]);
    expect(Buffer.from(part.loaded.ledgers.get(shard)!).toString()).toBe(`file ${number}`);
    return number;
  });
  return { loaded, complaints: outcome.complaints.map(({ code, message }) => `${code}: ${message}`) };
}

it('all of it is the state of the last file', async () => {
  expect(await load(chain)).toEqual({ loaded: [4, 4, 4], complaints: [] });
});

describe.each(Object.entries(DAMAGES))('a file that is %s', (_what, { code, damage }) => {
  it.each([
    [4, [3, 3, 3]],
    [3, [2, 2, 2]],
    // Shard 2 needs nothing before the third file.
    [2, [1, 1, 4]],
    [1, [0, 0, 4]],
  ])('number %d', async (number, expected) => {
    await damage(chain.disk, number);
    const { loaded, complaints } = await load(chain);
    expect(loaded).toEqual(expected);
    // It is named, and read once: not for each file that builds on it.
    expect(new Set(complaints).size).toBe(1);
    expect(complaints[0]).toContain(`${code}: ${pathOf(number)}`);
  });
});

it('a file that the entry does not list is named by the one that builds on it', async () => {
  const generations = chain.generations.filter(({ uuid }) => uuid !== uuidOf(2));
  const { loaded, complaints } = await load({ ...chain, generations });
  expect(loaded).toEqual([1, 1, 4]);
  expect(complaints[0]).toContain(`builds on ${uuidOf(2)}, which its entry does not list`);
});

it.each(FILES)('file number %d of another job is named', async (number) => {
  const other = await saveChain('another job');
  chain.disk.place(pathOf(number), other.disk.content(pathOf(number))!);
  const { loaded, complaints } = await load(chain);
  expect(loaded[0]).toBe(number - 1);
  expect(complaints[0]).toContain(`CheckpointCorrupt: ${pathOf(number)}`);
});
