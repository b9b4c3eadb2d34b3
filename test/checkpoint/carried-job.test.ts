/** The record of the job that checkpoint files carry: to them a text, which every new file has from the old ones. */

import { describe, expect, it } from 'vitest';
import { withFile } from '../../src/base/files.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { exportFile } from '../../src/checkpoint/export/files.ts';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import { isHeaderIntact, readMetadataOnly } from '../../src/checkpoint/file/safetensors/reader.ts';
import { findFiles } from '../../src/checkpoint/registry/discover.ts';
import { restoreFiles } from '../../src/checkpoint/restore/restore.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { saveCluster, withSet } from './cluster-fixture.ts';
import { createFiles, uuidOf } from './fixture.ts';
import { GOLDEN_FOLDER } from './golden-content.ts';

/** With what JSON, UTF-8 and the place of the header's checksum could trip over. */
const JOB = JSON.stringify({ name: 'größe "1" \\ 漢字 \n', trap: '"headerCrc32":"', rows: 'x'.repeat(50_000) });
const VARIABLES = { dense: [0, 1], sparse: [0, 1] };

describe('the record of the job', () => {
  it('comes back from a file of many extents, under an intact header', async () => {
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 1, meta: { job: JOB }, extentBytes: 900 });
    const reader = await openCheckpoint(disk.storage, refs[0]!.path);
    expect(reader.facts.extents).toBeGreaterThan(4);
    expect(reader.facts.job).toBe(JOB);
    expect(await isHeaderIntact(reader.source)).toBe(true);
    await reader.close();
  });

  it('is in the files of a restore and in an exported model', async () => {
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 2, meta: { job: JOB } });
    let names = 100;
    const random = { uuid: () => uuidOf(names++) };
    const clock = { wallSeconds: () => 1 };
    const written = await withSet(disk.storage, refs, async (set) => {
      const options = { storage: disk.storage, random, clock, set, variables: VARIABLES };
      const restored = await restoreFiles({ ...options, pservers: 3, folder: '/to', token: 9n });
      const format = { format: 'safetensors', out: '/m.safetensors', state: false, replace: false } as const;
      return [...restored.paths, ...(await exportFile({ ...options, ...format })).paths];
    });
    expect(written).toHaveLength(4);
    for (const path of written) {
      const metadata = await withFile(await disk.storage.openRange(path), (file) => readMetadataOnly(file, path));
      expect(metadata.get('job')).toBe(JOB);
    }
  });

  it('is missing in a file from before, which stays readable, and in what is made of it', async () => {
    const golden = createDisk();
    const { files } = await findFiles(createStorage(golden), GOLDEN_FOLDER);
    const facts = await withSet(createStorage(golden), files, async (set) => set.facts);
    expect(facts).not.toHaveProperty('job');
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 1 });
    const restored = await withSet(disk.storage, refs, (set) =>
      restoreFiles({
        ...{ storage: disk.storage, set, variables: VARIABLES, pservers: 1, folder: '/to', token: 9n },
        random: { uuid: () => uuidOf(100) },
        clock: { wallSeconds: () => 1 },
      }),
    );
    const reader = await openCheckpoint(disk.storage, restored.paths[0]!);
    expect(reader.facts).not.toHaveProperty('job');
    await reader.close();
  });

  it('is refused when it is longer than any record', async () => {
    const disk = createFiles();
    const meta = { job: 'x'.repeat(LIMITS.carriedJobCharacters + 1) };
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 1, meta });
    await expect(openCheckpoint(disk.storage, refs[0]!.path)).rejects.toMatchObject({
      code: 'CheckpointCorrupt',
      message: expect.stringContaining('__metadata__: job: '),
    });
  });
});
