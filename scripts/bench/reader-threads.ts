/**
 * A pass over a click log that is parsed again, in one process without a wire: one thread that reads and trains,
 * beside one that trains while others read. `node scripts/bench/reader-threads.ts [RECORDS] [THREADS]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { modelOf, trainedSpecOf } from '../../src/cluster/job/job-model.ts';
import { batchPlanId, JOB_RECORD_VERSION, type JobRecord, unitsOf } from '../../src/cluster/job/job-record.ts';
import type { DataPlace } from '../../src/data/place.ts';
import { ReaderThreads } from '../../src/data/readers/reader-threads.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { SYNTH_DEFAULTS, writeSynth } from '../../src/data/synth/synth.ts';
import { createHost, ownIdentity } from '../../src/host/host.ts';
import { THREAD_WORDS } from '../../src/host/thread-words.ts';
import { startThread } from '../../src/host/threads.ts';
import { loadJob } from '../../src/job/load-job.ts';
import { type Dataset, taskChunks, trainFactsOf } from '../../src/roles/master/dataset.ts';
import { indexJob } from '../../src/roles/master/index-job.ts';
import { openTaskFiles, readerThreadDataOf } from '../../src/roles/trainer/tasks/task-files.ts';
import { ENGINE_OPTIONS } from '../build-steps/engine-options.ts';
import { median } from './figure.ts';
import { LocalTraining } from './local-training.ts';

// As in the executable.
for (const option of ENGINE_OPTIONS) setFlagsFromString(option);

const RECORDS = Number(process.argv[2] ?? 400_000);
const THREADS = Number(process.argv[3] ?? 2);
const RECORDS_PER_TASK = 8192;
const BATCH = 1024;
const ROUNDS = 5;

const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-threads-'));
const host = createHost({ logLevel: 'warn', logFormat: 'text', identity: ownIdentity('bench') });
const place: DataPlace = { host, folder, cacheFolder: join(folder, 'cache') };

interface Opened {
  readonly record: JobRecord;
  readonly dataset: Dataset;
}

async function openJob(): Promise<Opened> {
  await writeSynth(host, folder, {
    ...SYNTH_DEFAULTS,
    ...{ records: RECORDS, testRecords: 1, features: 390_000, perRecord: 39, factors: 0, format: 'csv', numbers: 13 },
  });
  const sets = [`data.recordsPerTask=${RECORDS_PER_TASK}`, `training.batchSize=${BATCH}`, 'data.cache=off'];
  const loaded = await loadJob({ path: join(folder, 'job.yaml'), sets, dataDir: folder, disk: host.disk });
  const { job, data } = await indexJob(place, loaded.job);
  const { train: dataset } = data;
  const train = trainFactsOf(dataset);
  const facts = { created: 0, dataDir: folder, batchPlanId: batchPlanId(job, train.digest), train };
  return {
    record: { version: JOB_RECORD_VERSION, id: host.random.uuid(), units: unitsOf(job), job, ...facts },
    dataset,
  };
}

/** Milliseconds of the second pass, when all threads have begun, and its mean loss. */
async function secondPass({ record, dataset }: Opened, threads: number): Promise<{ ms: number; loss: number }> {
  const model = modelOf(record);
  const training = new LocalTraining(model, trainedSpecOf(record), record.job.training.seed);
  const data = readerThreadDataOf(place, record, model)!;
  const start = () => startThread(THREAD_WORDS.trainer, data);
  const readers =
    threads === 1 ? undefined : new ReaderThreads({ count: threads - 1, bytesBeforeStart: 0, start, log: host.log });
  const files = openTaskFiles(place, record, model, { batchSize: BATCH, part: 'train', threads: readers });
  const passMs: number[] = [];
  let loss = 0;
  for (let pass = 0; pass < 2; pass++) {
    const reading: Promise<TaskRecords>[] = [];
    const beganMs = performance.now();
    loss = 0;
    let next = 0;
    for (let task = 0; task < dataset.tasks.length; task++) {
      const ahead = readers?.ahead ?? 1;
      while (next < dataset.tasks.length && next <= task + ahead) reading.push(files.read(taskChunks(dataset, next++)));
      const records = await reading.shift()!;
      for (let from = 0; from < records.records; from += BATCH) {
        loss += training.step(records.batch(from, Math.min(records.records, from + BATCH))).loss;
      }
    }
    passMs.push(performance.now() - beganMs);
  }
  await files.close();
  await readers?.close();
  return { ms: passMs.at(-1)!, loss: loss / record.train.records };
}

try {
  const opened = await openJob();
  const rates: Record<number, number[]> = { 1: [], [THREADS]: [] };
  const losses = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const threads of [1, THREADS]) {
      const { ms, loss } = await secondPass(opened, threads);
      rates[threads]!.push(RECORDS / ms);
      losses.add(loss);
    }
  }
  for (const threads of [1, THREADS]) {
    process.stdout.write(
      `${threads} thread${threads === 1 ? '' : 's'}  ${median(rates[threads]!).toFixed(0)} k records/s\n`,
    );
  }
  const ratios = rates[THREADS]!.map((rate, round) => rate / rates[1]![round]!);
  process.stdout.write(
    `ratio ${median(ratios).toFixed(2)}, best ${Math.max(...ratios).toFixed(2)}; losses ${[...losses].join(', ')}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
