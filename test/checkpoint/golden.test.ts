import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { loadGeneration } from '../../src/checkpoint/load/load.ts';
import { findFiles } from '../../src/checkpoint/registry/discover.ts';
import { entrySchema, generationsOf } from '../../src/checkpoint/registry/entry.ts';
import { listGenerations } from '../../src/checkpoint/registry/listing.ts';
import { openCheckpointSet } from '../../src/checkpoint/set/checkpoint-set.ts';
import { verifyCheckpoint } from '../../src/checkpoint/set/verify.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createSimulatedDisk } from '../simulated-disk.ts';
import { contentOf, emptyParameters, ledgerOf, loadUsable } from './fixture.ts';
import {
  FORMER_FOLDER,
  GOLDEN_FOLDER,
  GOLDEN_JOB,
  GOLDEN_META,
  goldenMoment,
  goldenParameters,
} from './golden-content.ts';

const golden = (path: string) => {
  const folder = path.replace(/\/$/, '');
  return { folder, entry: entrySchema.parse(JSON.parse(readFileSync(`${folder}/entry.json`, 'utf8'))) };
};

describe('the golden file of format version 3', () => {
  it('loads: two optimizers for dense parameters, two for tables', async () => {
    const { folder, entry } = golden(GOLDEN_FOLDER);
    const into = emptyParameters(GOLDEN_JOB);
    const place = { folder, index: GOLDEN_META.index };
    const loaded = await loadGeneration(entry, { disk: createDisk(), place, expected: GOLDEN_JOB, into });
    expect(contentOf(into, GOLDEN_JOB)).toEqual(contentOf(goldenParameters(), GOLDEN_JOB));
    expect(loaded.facts).toMatchObject({ ...GOLDEN_META, rows: 8, extents: 1, shardsHere: 4 });
    expect(loaded.positions).toEqual([0, 1, 2, 3].map((shard) => ({ shard, epoch: 2, seq: 100 + shard })));
    expect([...loaded.ledgers.values()]).toEqual(
      [1, 1, 2, 2].map((watermark) => ledgerOf(`{"watermark":${watermark}}`)),
    );
    expect(loaded.ledgers.get(1)).toBe(loaded.ledgers.get(0));
  });

  /** Until there is a version 3: a change of these bytes is a change of the format. */
  it('is what is written today, to the byte', async () => {
    const { folder, entry } = golden(GOLDEN_FOLDER);
    const disk = createSimulatedDisk();
    const parameters = goldenParameters();
    const options = { disk, folder: '/out', meta: GOLDEN_META, parameters, shards: parameters.shards() };
    const { uuid, md5 } = await writeCheckpointFile({ ...options, momentOf: goldenMoment });
    expect(md5).toBe(entry.md5);
    const written = readFileSync(`${folder}/${GOLDEN_META.index}/${uuid}`);
    expect(Buffer.compare(disk.content(`/out/${GOLDEN_META.index}/${uuid}`)!, written)).toBe(0);
  });
});

describe('a file of format version 2', () => {
  it('is refused, naming both versions', async () => {
    const { folder, entry } = golden(FORMER_FOLDER);
    const into = emptyParameters(GOLDEN_JOB);
    const place = { folder, index: GOLDEN_META.index };
    const refused = {
      code: 'VersionMismatch',
      message: expect.stringMatching(/of format version 3, got version 2$/),
      details: { found: 2, expected: 3 },
    };
    const options = { disk: createDisk(), place, expected: GOLDEN_JOB, into };
    await expect(loadGeneration(entry, options)).rejects.toMatchObject(refused);
    await expect(loadUsable(generationsOf(entry), options)).rejects.toMatchObject(refused);
    const { files } = await findFiles(createDisk(), folder);
    await expect(verifyCheckpoint({ disk: createDisk(), files })).rejects.toMatchObject(refused);
    await expect(openCheckpointSet(createDisk(), files)).rejects.toMatchObject(refused);
  });

  it('is listed as incompatible, beside files that can be read', async () => {
    const disk = createDisk();
    const [former, now] = await Promise.all([FORMER_FOLDER, GOLDEN_FOLDER].map((folder) => findFiles(disk, folder)));
    const listed = await listGenerations({ disk, files: [...former!.files, ...now!.files] });
    expect(listed.map(({ state }) => state).sort()).toEqual(['clean', 'incompatible']);
    expect(listed.find(({ state }) => state === 'incompatible')?.complaint).toContain('got version 2');
  });
});
