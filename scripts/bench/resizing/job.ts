/** A job whose model has so many bytes, and the data that make all its rows exist in the first pass. */
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';

export const JOB_NAME = 'bench-resize';
const FACTORS = 16;
/** Bytes of an id: a weight and its factors with AdaGrad's sums, and its places in the two indexes. */
const BYTES_PER_ID = 4 * 2 * (1 + FACTORS) + 2 * 16;
/** Features of a record: most are of no other record, some are of many. */
const RARE = 36;
const COMMON = 3;
const COMMON_IDS = 1000;

export interface JobOptions {
  readonly folder: string;
  readonly bytes: number;
  readonly mode: 'async' | 'sync';
  readonly passes: number;
  readonly saveEvery: string;
}

/** Gives the number of records. */
export async function makeJob({ folder, bytes, mode, passes, saveEvery }: JobOptions): Promise<number> {
  const records = Math.ceil(bytes / BYTES_PER_ID / RARE);
  await writeRecords(join(folder, 'train.libsvm'), records);
  const job = {
    name: JOB_NAME,
    data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: 1000 },
    model: { type: 'fm', factors: FACTORS, initStddev: 0.01 },
    optimizer: { type: 'adagrad', learningRate: 0.05 },
    training: { mode, passes, batchSize: 100 },
    // Far longer than by default: on a machine with other work a process may lack a core for seconds.
    cluster: { pservers: 2, maxPservers: 4, trainers: 2, leaseTtl: '60s' },
    checkpoint: { interval: saveEvery },
  };
  writeFileSync(join(folder, 'job.json'), JSON.stringify(job));
  return records;
}

async function writeRecords(path: string, records: number): Promise<void> {
  const file = createWriteStream(path);
  for (let record = 0; record < records; record++) {
    const common = Array.from({ length: COMMON }, (_, i) => 1 + i * COMMON_IDS + ((record * (i + 7)) % COMMON_IDS));
    const firstRare = 1 + COMMON * COMMON_IDS + record * RARE;
    const rare = Array.from({ length: RARE }, (_, i) => firstRare + i);
    const line = `${record % 3 === 0 ? 1 : 0} ${[...common, ...rare].map((id) => `${id}:1`).join(' ')}\n`;
    if (!file.write(line)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
}
