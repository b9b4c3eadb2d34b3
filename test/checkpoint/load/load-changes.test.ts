/** A delta that does not build on what is in the memory is refused, and so is one that says impossible things. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointMeta, ShardParent } from '../../../src/checkpoint/file/format.ts';
import { checkpointPath } from '../../../src/checkpoint/file/paths.ts';
import { type CheckpointReader, openCheckpoint, readGone } from '../../../src/checkpoint/file/reader.ts';
import { checkStructure } from '../../../src/checkpoint/file/structure.ts';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { loadChanges } from '../../../src/checkpoint/load/load-changes.ts';
import { loadShards } from '../../../src/checkpoint/load/load-shards.ts';
import type { Parameters } from '../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../src/tensor/shard-hash.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { SEED, trainedTables } from '../../tensor/admission/kernel-job.ts';
import { rowsPart } from '../../tensor/fixture.ts';
import { createFiles, ledgerOf, metaOf, PLACE, uuidOf } from '../fixture.ts';

const SHARDS = 2;
const NAME = 'plain';
const spec = { dense: [], sparse: trainedTables([{ name: NAME, hasSeen: true }]) };
const EXPECTED = { jobId: 'a job', parameters: spec, seed: SEED, shards: SHARDS };
const [BASE, DELTA] = [uuidOf(1), uuidOf(2)];
const IDS = Array.from({ length: 30 }, (_, id) => BigInt(id));
const OWN = IDS.filter((id) => shardOfRow(NAME, id, SHARDS) === 0);

let disk: StoredFiles;
let parameters: Parameters;

function memory(): Parameters {
  const made = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (const shard of [0, 1]) made.addShard(shard);
  return made;
}

function push(ids: readonly bigint[], seen: number): void {
  const part = rowsPart(0, ids, Array<number>(ids.length).fill(1));
  parameters.push([part], [], Uint8Array.of(1, 1), { seen: Uint32Array.of(seen, seen) });
}

interface Changes {
  readonly uuid?: string;
  readonly seq: number;
  readonly base?: number;
  readonly parent?: ShardParent;
  readonly removed?: readonly bigint[];
  readonly meta?: Partial<CheckpointMeta>;
}

async function write({ uuid = DELTA, seq, base = 0, parent, removed = [], meta }: Changes): Promise<CheckpointReader> {
  const looks = { base, moveAt: undefined, begins: [], lookAt: [undefined] };
  const kind = parent === undefined ? {} : ({ kind: 'delta', parents: [parent.uuid] } as const);
  await writeCheckpointFile({
    ...{ storage: disk.storage, folder: PLACE.folder, parameters, shards: [0, 1] },
    meta: metaOf(EXPECTED, { uuid, ...kind, ...meta }),
    momentOf: (shard) => {
      const gone = shard === 0 ? removed : [];
      const changes = parent === undefined ? {} : { parent, removed: [BigUint64Array.from(gone)] };
      return { shard, epoch: 1, seq, ledger: ledgerOf('ledger'), looks, ...changes };
    },
  });
  return openCheckpoint(disk.storage, checkpointPath(PLACE, uuid));
}

const before = (state: { uuid?: string; seq?: number; base?: number } = {}) =>
  new Map([0, 1].map((shard) => [shard, { uuid: BASE, seq: 5, base: 0, ...state }]));

async function loadedBase(): Promise<Parameters> {
  const into = createParameters({ spec, seed: SEED, shards: SHARDS });
  const reader = await openCheckpoint(disk.storage, checkpointPath(PLACE, BASE));
  await loadShards(reader, { into });
  await reader.close();
  return into;
}

const parent = { uuid: BASE, seq: 5 };

beforeEach(async () => {
  disk = createFiles();
  parameters = memory();
  push(IDS, 5);
  await (await write({ uuid: BASE, seq: 5 })).close();
});

describe('a delta', () => {
  it('is the rows that were seen since, and the ids that are gone', async () => {
    push(OWN.slice(0, 3), 6);
    parameters.removeIds(0, 0, BigUint64Array.of(OWN[5]!));
    const reader = await write({ seq: 6, parent, removed: [OWN[5]!] });
    await checkStructure(reader);
    expect([await reader.rowCount(0, 0), await reader.rowCount(1, 0)]).toEqual([3, 0]);
    expect([...(await readGone(reader, 0, 0))]).toEqual([OWN[5]]);
    expect(reader.positions[0]).toEqual({ shard: 0, epoch: 1, seq: 6, parent });
    const into = await loadedBase();
    await loadChanges(reader, { into, before: before() });
    for (const shard of [0, 1]) expect(into.exportRows(shard, 0)).toEqual(parameters.exportRows(shard, 0));
  });

  it('has all rows when the base of seen has passed its parent', async () => {
    parameters.lowerSeen(0, 8);
    parameters.lowerSeen(1, 8);
    const reader = await write({ seq: 9, base: 8, parent });
    expect(await reader.rowCount(0, 0)).toBe(OWN.length);
    const into = await loadedBase();
    await loadChanges(reader, { into, before: before() });
    expect(into.exportRows(0, 0)).toEqual(parameters.exportRows(0, 0));
  });

  it.each([
    ['another file', { uuid: uuidOf(9) }],
    ['another update', { seq: 4 }],
  ])('is refused on %s', async (_what, state) => {
    const reader = await write({ seq: 6, parent });
    const loading = loadChanges(reader, { into: await loadedBase(), before: before(state) });
    await expect(loading).rejects.toMatchObject({
      code: 'CheckpointCorrupt',
      message: expect.stringMatching(/shard 0 builds on update 5 in .*1, got update/),
    });
  });

  it('is refused on a shard whose seen counts from further on', async () => {
    const reader = await write({ seq: 6, parent });
    const loading = loadChanges(reader, { into: await loadedBase(), before: before({ base: 3 }) });
    await expect(loading).rejects.toMatchObject({ message: expect.stringContaining('its seen count from 0') });
  });

  it('is refused where a whole shard is expected', async () => {
    const reader = await write({ seq: 6, parent });
    const into = createParameters({ spec, seed: SEED, shards: SHARDS });
    await expect(loadShards(reader, { into })).rejects.toMatchObject({
      message: expect.stringContaining(`has only what changed in shard 0 since ${BASE}`),
    });
    expect(into.shards()).toEqual([]);
  });
});

describe('a file is damaged', () => {
  const refused = async (changes: Changes, why: RegExp): Promise<void> => {
    const reading = write(changes).then(checkStructure);
    await expect(reading).rejects.toMatchObject({ code: 'CheckpointCorrupt', message: expect.stringMatching(why) });
  };

  it('whose parent is at a later update', () => refused({ seq: 4, parent }, /shard 0 is at 4, its parent at 5/));
  it('whose gone ids are of another shard', () => {
    const other = IDS.find((id) => !OWN.includes(id))!;
    return refused({ seq: 6, parent, removed: [other] }, /gone\/plain: shard 0 holds ids of other shards/);
  });
  it('whose gone ids are not ascending', () =>
    refused({ seq: 6, parent, removed: [OWN[2]!, OWN[1]!] }, /gone\/plain: ids of shard 0 are not ascending/));
  it('that names parents and is no delta', () =>
    refused({ seq: 6, meta: { parents: [BASE] } }, /parents: expected in a delta and in no other file/));
  it('that is a delta and names no parents', () =>
    refused({ seq: 6, meta: { kind: 'delta' } }, /parents: expected in a delta/));
});
