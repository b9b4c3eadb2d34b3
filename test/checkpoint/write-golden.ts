/** Run once for each format version: `node test/checkpoint/write-golden.ts`. Golden files are never written again. */

import { existsSync, writeFileSync } from 'node:fs';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { generationOf } from '../../src/checkpoint/registry/entry.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createStorage } from '../../src/host/storage.ts';
import { CHAIN_FOLDER, writeChain } from './golden-chain.ts';
import { GOLDEN_FOLDER, GOLDEN_META, goldenMoment, goldenParameters } from './golden-content.ts';

const storage = createStorage(createDisk());

async function writeWhole(folder: string): Promise<object> {
  const parameters = goldenParameters();
  const file = await writeCheckpointFile({
    ...{ storage, folder, meta: GOLDEN_META, parameters, shards: parameters.shards(), momentOf: goldenMoment },
  });
  return generationOf(file, GOLDEN_META);
}

async function writeDeltas(folder: string): Promise<object> {
  const [newest, ...earlier] = (await writeChain(storage, folder)).generations;
  return { ...newest, keep: 1, generations: earlier };
}

for (const [folder, write] of [
  [GOLDEN_FOLDER, writeWhole],
  [CHAIN_FOLDER, writeDeltas],
] as const) {
  if (existsSync(folder)) continue;
  const entry = await write(folder.replace(/\/$/, ''));
  writeFileSync(`${folder}entry.json`, `${JSON.stringify(entry, null, 2)}\n`);
}
