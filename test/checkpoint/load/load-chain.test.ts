/**
 * A base and three deltas: whatever happens to one of the files, the best state behind it is loaded whole, and the
 * complaint names the file.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointMeta } from '../../../src/checkpoint/file/format.ts';
import { checkpointPath } from '../../../src/checkpoint/file/paths.ts';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { loadFirstUsable } from '../../../src/checkpoint/load/load.ts';
import { type CheckpointEntry, type Generation, generationOf } from '../../../src/checkpoint/registry/entry.ts';
import { newestFirst, publishedFiles } from '../../../src/checkpoint/registry/newest.ts';
import type { Parameters, ShardRows } from '../../../src/tensor/parameters.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { SEED, trainedTables } from '../../tensor/admission/kernel-job.ts';
import { rowsPart } from '../../tensor/fixture.ts';
import { createFiles, ledgerOf, metaOf, PLACE, uuidOf } from '../fixture.ts';

const SHARDS = 3;
const ALL = [0, 1, 2];
const spec = { dense: [], sparse: trainedTables([{ name: 'plain', hasSeen: true }]) };
const EXPECTED = { jobId: 'a job', parameters: spec, seed: SEED, shards: SHARDS };
const IDS = Array.from({ length: 30 }, (_, id) => BigInt(id));
/** Shard 2 is whole in the second delta: its chain is shorter. */
const WHOLE_AGAIN = { shard: 2, file: 3 };
const FILES = [1, 2, 3, 4];
const pathOf = (number: number): string => checkpointPath(PLACE, uuidOf(number));

let disk: StoredFiles;
let parameters: Parameters;
let generations: Generation[];
/** By file: the rows of each shard. */
let states: Map<number, ShardRows[]>;

async function save(number: number): Promise<void> {
  const isWhole = (shard: number): boolean =>
    number === 1 || (shard === WHOLE_AGAIN.shard && number === WHOLE_AGAIN.file);
  const parent = { uuid: uuidOf(number - 1), seq: 10 * (number - 1) };
  const kind = number === 1 ? {} : ({ kind: 'delta', parents: [parent.uuid] } as const);
  const meta: CheckpointMeta = metaOf(EXPECTED, { uuid: uuidOf(number), ...kind });
  const file = await writeCheckpointFile({
    ...{ storage: disk.storage, folder: PLACE.folder, parameters, shards: ALL, meta },
    momentOf: (shard) => {
      const looks = { base: 0, moveAt: undefined, begins: [], lookAt: [undefined] };
      const changes = isWhole(shard) ? {} : { parent, removed: [new BigUint64Array(0)] };
      return { shard, epoch: 1, seq: 10 * number, ledger: ledgerOf(`file ${number}`), looks, ...changes };
    },
  });
  generations.unshift(generationOf(file, meta));
  states.set(
    number,
    ALL.map((shard) => parameters.exportRows(shard, 0)),
  );
}

beforeEach(async () => {
  [disk, generations, states] = [createFiles(), [], new Map()];
  parameters = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (const shard of ALL) parameters.addShard(shard);
  for (const number of FILES) {
    const ids = number === 1 ? IDS : IDS.filter((id) => id % 5n === BigInt(number));
    const seen = new Uint32Array(SHARDS).fill(10 * number);
    parameters.push([rowsPart(0, ids, Array<number>(ids.length).fill(1))], [], Uint8Array.of(1, 1, 1), { seen });
    await save(number);
  }
});

/** Loads the best there is: by shard, the file whose state it has; 0 for none. */
async function load(): Promise<{ readonly loaded: number[]; readonly complaints: string[] }> {
  const into = createParameters({ spec, seed: SEED, shards: SHARDS });
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
  expect(await load()).toEqual({ loaded: [4, 4, 4], complaints: [] });
});

describe.each([
  ['missing', 'CheckpointMissing', (number: number) => disk.remove(pathOf(number))],
  [
    'torn',
    'CheckpointCorrupt',
    (number: number) => disk.place(pathOf(number), disk.content(pathOf(number))!.slice(0, -9)),
  ],
  [
    'damaged',
    'CheckpointCorrupt',
    (number: number) => disk.flip(pathOf(number), disk.content(pathOf(number))!.length - 9),
  ],
  [
    'another one',
    'CheckpointCorrupt',
    (number: number) => disk.place(pathOf(number), disk.content(pathOf((number % 4) + 1))!),
  ],
] as const)('a file that is %s', (_what, code, damage) => {
  it.each([
    [4, [3, 3, 3]],
    [3, [2, 2, 2]],
    // Shard 2 needs nothing before the third file.
    [2, [1, 1, 4]],
    [1, [0, 0, 4]],
  ])('number %d', async (number, expected) => {
    await damage(number);
    const { loaded, complaints } = await load();
    expect(loaded).toEqual(expected);
    // It is named, and read once: not for each file that builds on it.
    expect(new Set(complaints).size).toBe(1);
    expect(complaints[0]).toContain(`${code}: ${pathOf(number)}`);
  });
});

it('a file that the entry does not list is named by the one that builds on it', async () => {
  generations = generations.filter(({ uuid }) => uuid !== uuidOf(2));
  const { loaded, complaints } = await load();
  expect(loaded).toEqual([1, 1, 4]);
  expect(complaints[0]).toContain(`builds on ${uuidOf(2)}, which its entry does not list`);
});
