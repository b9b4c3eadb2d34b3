import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { loadGeneration } from '../../src/checkpoint/load/load.ts';
import { loadSet } from '../../src/checkpoint/load/load-set.ts';
import { findFiles } from '../../src/checkpoint/registry/discover.ts';
import { entrySchema, generationsOf } from '../../src/checkpoint/registry/entry.ts';
import { listGenerations } from '../../src/checkpoint/registry/listing.ts';
import { openCheckpointSet } from '../../src/checkpoint/set/checkpoint-set.ts';
import { verifyCheckpoint } from '../../src/checkpoint/set/verify.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { contentOf, createFiles, emptyParameters, ledgerOf, loadUsable } from './fixture.ts';
import { CHAIN_FOLDER, CHAIN_JOB, writeChain } from './golden-chain.ts';
import {
  FORMER_FOLDER,
  FORMER_JOB,
  FORMER_META,
  formerParameters,
  GOLDEN_FOLDER,
  GOLDEN_JOB,
  GOLDEN_META,
  goldenLooks,
  goldenMoment,
  goldenParameters,
  REFUSED_FOLDER,
} from './golden-content.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;

const golden = (path: string) => {
  const folder = path.replace(/\/$/, '');
  return { folder, entry: entrySchema.parse(JSON.parse(readFileSync(`${folder}/entry.json`, 'utf8'))) };
};

const POSITIONS = [0, 1, 2, 3].map((shard) => ({ shard, epoch: 2, seq: 100 + shard }));
const LEDGERS = [1, 1, 2, 2].map((watermark) => ledgerOf(`{"watermark":${watermark}}`));

describe('the golden file of format version 4', () => {
  it('loads: two optimizers for dense parameters, two for tables, `seen`, candidates, looks', async () => {
    const { folder, entry } = golden(GOLDEN_FOLDER);
    const into = emptyParameters(GOLDEN_JOB);
    const place = { folder, index: GOLDEN_META.index };
    const loaded = await loadGeneration(entry, {
      storage: createStorage(createDisk()),
      place,
      expected: GOLDEN_JOB,
      into,
    });
    expect(contentOf(into, GOLDEN_JOB)).toEqual(contentOf(goldenParameters(), GOLDEN_JOB));
    expect(loaded.facts).toMatchObject({ ...GOLDEN_META, rows: 8, extents: 1, shardsHere: 4 });
    expect(loaded.positions).toEqual(POSITIONS);
    expect([...loaded.ledgers.values()]).toEqual(LEDGERS);
    expect(loaded.ledgers.get(1)).toBe(loaded.ledgers.get(0));
    expect([...loaded.looks]).toEqual([0, 1, 2, 3].map((shard) => [shard, goldenLooks(shard)]));
  });

  /** Until there is a version 5: a change of these bytes is a change of the format. */
  it('is what is written today, to the byte', async () => {
    const { folder, entry } = golden(GOLDEN_FOLDER);
    const disk = createFiles();
    const parameters = goldenParameters();
    const options = {
      storage: disk.storage,
      folder: '/out',
      meta: GOLDEN_META,
      parameters,
      shards: parameters.shards(),
    };
    const { uuid, md5 } = await writeCheckpointFile({ ...options, momentOf: goldenMoment });
    expect(md5).toBe(entry.md5);
    const written = readFileSync(`${folder}/${GOLDEN_META.index}/${uuid}`);
    expect(Buffer.compare(disk.content(`/out/${GOLDEN_META.index}/${uuid}`)!, written)).toBe(0);
  });
});

describe('the golden chain of format version 4', () => {
  const files = (): string[] => {
    const { folder, entry } = golden(CHAIN_FOLDER);
    return generationsOf(entry).map(({ uuid }) => `${folder}/${GOLDEN_META.index}/${uuid}`);
  };

  it('loads: rows and candidates that changed, came and went, and a `seen` that counts from elsewhere', async () => {
    const { folder, entry } = golden(CHAIN_FOLDER);
    const { parameters } = await writeChain(createFiles().storage, '/out');
    const into = emptyParameters(CHAIN_JOB);
    const storage = createStorage(createDisk());
    const place = { folder, index: GOLDEN_META.index };
    const [newest, ...earlier] = generationsOf(entry);
    await loadGeneration(newest!, { storage, place, expected: CHAIN_JOB, into }, earlier);
    expect(contentOf(into, CHAIN_JOB)).toEqual(contentOf(parameters, CHAIN_JOB));
    const set = await openCheckpointSet(storage, [{ path: files()[0]! }]);
    expect(contentOf(await loadSet(set), CHAIN_JOB)).toEqual(contentOf(parameters, CHAIN_JOB));
    await set.close();
  });

  it('is what is written today, to the byte', async () => {
    const disk = createFiles();
    const { generations } = await writeChain(disk.storage, '/out');
    expect(generations).toEqual(generationsOf(golden(CHAIN_FOLDER).entry));
    for (const path of files()) {
      const written = disk.content(`/out/${GOLDEN_META.index}/${basename(path)}`)!;
      expect(Buffer.compare(written, readFileSync(path)), path).toBe(0);
    }
  });

  it.skipIf(!hasPython)('is read by the example in Python', async () => {
    const { parameters } = await writeChain(createFiles().storage, '/out');
    const script = 'examples/checkpoints/read_rows.py';
    const out = execFileSync('python3', [script, files()[0]!, 'emb'], { encoding: 'utf8' });
    const expected = [0, 1].flatMap((shard) => {
      const { ids, values } = parameters.exportRows(shard, 0);
      return Array.from(ids, (id, row) => [id, values[2 * row]!, values[2 * row + 1]!] as const);
    });
    const found = out
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect(found.map(([id, ...row]) => [BigInt(id!), ...row.map(Number)])).toEqual(
      expected.sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  });
});

describe('a file of format version 3', () => {
  it('loads, and has no looks', async () => {
    const { folder, entry } = golden(FORMER_FOLDER);
    const into = emptyParameters(FORMER_JOB);
    const place = { folder, index: FORMER_META.index };
    const loaded = await loadGeneration(entry, {
      storage: createStorage(createDisk()),
      place,
      expected: FORMER_JOB,
      into,
    });
    expect(contentOf(into, FORMER_JOB)).toEqual(contentOf(formerParameters(), FORMER_JOB));
    expect(loaded.facts).toMatchObject({ ...FORMER_META, rows: 8, extents: 1, shardsHere: 4 });
    expect(loaded.positions).toEqual(POSITIONS);
    expect([...loaded.ledgers.values()]).toEqual(LEDGERS);
    expect(loaded.looks.size).toBe(0);
  });

  it('differs from a file of version 4 of the same job by its version alone', async () => {
    const { folder, entry } = golden(FORMER_FOLDER);
    const disk = createFiles();
    const parameters = formerParameters();
    const options = {
      storage: disk.storage,
      folder: '/out',
      meta: FORMER_META,
      parameters,
      shards: parameters.shards(),
    };
    const momentOf = (shard: number) => ({ ...goldenMoment(shard), looks: undefined });
    const { uuid } = await writeCheckpointFile({ ...options, momentOf });
    const [now, before] = [
      disk.content(`/out/${FORMER_META.index}/${uuid}`)!,
      readFileSync(`${folder}/${FORMER_META.index}/${entry.uuid}`),
    ].map((bytes) =>
      Buffer.from(bytes)
        .toString('latin1')
        .replace(/"headerCrc32":"[0-9a-f]{8}"/, ''),
    );
    expect(now).toBe(before!.replace('"formatVersion":"3"', '"formatVersion":"4"'));
  });
});

describe('a file of format version 2', () => {
  it('is refused, naming both versions', async () => {
    const { folder, entry } = golden(REFUSED_FOLDER);
    const into = emptyParameters(GOLDEN_JOB);
    const place = { folder, index: GOLDEN_META.index };
    const refused = {
      code: 'VersionMismatch',
      message: expect.stringMatching(/of format version 3 or 4, got version 2$/),
      details: { found: 2, expected: 4 },
    };
    const options = { storage: createStorage(createDisk()), place, expected: GOLDEN_JOB, into };
    await expect(loadGeneration(entry, options)).rejects.toMatchObject(refused);
    await expect(loadUsable(generationsOf(entry), options)).rejects.toMatchObject(refused);
    const { files } = await findFiles(createStorage(createDisk()), folder);
    await expect(verifyCheckpoint({ storage: createStorage(createDisk()), files })).rejects.toMatchObject(refused);
    await expect(openCheckpointSet(createStorage(createDisk()), files)).rejects.toMatchObject(refused);
  });

  it('is listed as incompatible, beside files that can be read', async () => {
    const disk = createDisk();
    const [former, now] = await Promise.all(
      [REFUSED_FOLDER, FORMER_FOLDER].map((folder) => findFiles(createStorage(disk), folder)),
    );
    const listed = await listGenerations({ storage: createStorage(disk), files: [...former!.files, ...now!.files] });
    expect(listed.map(({ state }) => state).sort()).toEqual(['clean', 'incompatible']);
    expect(listed.find(({ state }) => state === 'incompatible')?.complaint).toContain('got version 2');
  });
});
