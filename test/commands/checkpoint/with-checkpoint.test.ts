/** Files that pservers of a running job delete while a command looks for them. */
import { beforeEach, expect, it } from 'vitest';
import type { Storage } from '../../../src/base/seams.ts';
import { type FindOptions, openFound, withCheckpoint } from '../../../src/commands/checkpoint/find-checkpoint.ts';
import { FOLDER } from '../../checkpoint/cluster-fixture.ts';
import { uuidOf } from '../../checkpoint/fixture.ts';
import { MovedCluster, STAGES } from '../../checkpoint/moved-cluster.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../simulated-disk.ts';

let disk: SimulatedDisk;
let cluster: MovedCluster;
/** What happens after each look in the folder, before a file is opened. */
let since: ((look: number) => Promise<unknown>) | undefined;
let looks: number;

beforeEach(async () => {
  disk = createSimulatedDisk();
  cluster = new MovedCluster(disk.storage);
  [looks, since] = [0, undefined];
  await STAGES['2 pservers']!(cluster);
});

const list: Storage['list'] = async (path) => {
  const names = await disk.storage.list(path);
  if (path === `${FOLDER}/1`) await since?.(++looks);
  return names;
};

const options = (): FindOptions => {
  const host = { storage: { ...disk.storage, list } } as FindOptions['host'];
  return {
    path: FOLDER,
    flags: {},
    host,
    typed: { command: ['checkpoint', 'inspect'], words: [] },
    which: 'newest',
    signal: new AbortController().signal,
  };
};

/** Both pservers save, and keep nothing else. */
async function saveAll(): Promise<void> {
  for (const index of [0, 1]) await cluster.save(index, { keep: 0 });
}

async function openedPaths(): Promise<string[]> {
  const { found, set } = await openFound(options());
  await set.close();
  return found.files.map(({ path }) => path);
}

it('are looked for again when newer ones have replaced them', async () => {
  since = async (look) => look < 3 && saveAll();
  const paths = await openedPaths();
  expect(looks).toBe(3);
  expect(paths).toEqual([`${FOLDER}/0/${uuidOf(5)}`, `${FOLDER}/1/${uuidOf(6)}`]);
});

it('are not looked for all the time, if they go each time', async () => {
  since = saveAll;
  await expect(openedPaths()).rejects.toMatchObject({ code: 'CheckpointMissing' });
  expect(looks).toBe(5);
});

it('are missing when they are found twice and cannot be opened', async () => {
  disk.failNext('open', 'ENOENT');
  disk.failNext('open', 'ENOENT');
  since = async () => undefined;
  await expect(openedPaths()).rejects.toMatchObject({ code: 'CheckpointMissing' });
  expect(looks).toBe(2);
});

it('are looked for again when the result says that some were missing', async () => {
  since = async () => undefined;
  const results: string[][] = [];
  const act = async ({ files }: { files: readonly { path: string }[] }): Promise<string[]> => {
    if (results.length === 0) await saveAll();
    results.push(files.map(({ path }) => path));
    return results.at(-1)!;
  };
  const areAllThere = async (paths: string[]): Promise<boolean> => {
    for (const path of paths) if (!(await disk.exists(path))) return false;
    return true;
  };
  expect(await withCheckpoint(options(), act, areAllThere)).toEqual(results[1]);
  expect(results).toHaveLength(2);
});
