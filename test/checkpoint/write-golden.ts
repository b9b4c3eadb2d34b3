/** Run once for each format version: `node test/checkpoint/write-golden.ts`. Golden files are never written again. */

import { existsSync, writeFileSync } from 'node:fs';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { generationOf } from '../../src/checkpoint/registry/entry.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { GOLDEN_FOLDER, GOLDEN_META, goldenMoment, goldenParameters } from './golden-content.ts';

if (existsSync(GOLDEN_FOLDER)) throw new Error(`${GOLDEN_FOLDER} exists already`);
const parameters = goldenParameters();
const file = await writeCheckpointFile({
  storage: createStorage(createDisk()),
  folder: GOLDEN_FOLDER.replace(/\/$/, ''),
  meta: GOLDEN_META,
  parameters,
  shards: parameters.shards(),
  momentOf: goldenMoment,
});
writeFileSync(`${GOLDEN_FOLDER}entry.json`, `${JSON.stringify(generationOf(file, GOLDEN_META), null, 2)}\n`);
