/**
 * A process that trains the model of a job without a wire: `alone.ts JOB FOLDER`, the folder of its data. It reads the
 * tasks of the job once as a trainer does, and then trains all passes. Prints what training.c prints.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelOf, trainedSpecOf } from '../../../src/cluster/job/job-model.ts';
import { batchPlanId, JOB_RECORD_VERSION, type JobRecord, unitsOf } from '../../../src/cluster/job/job-record.ts';
import type { DataPlace } from '../../../src/data/place.ts';
import type { TaskRecords } from '../../../src/data/source.ts';
import { createHost, ownIdentity } from '../../../src/host/host.ts';
import { loadJob } from '../../../src/job/load-job.ts';
import type { Job } from '../../../src/job/schema.ts';
import { type Dataset, taskChunks, trainFactsOf } from '../../../src/roles/master/dataset.ts';
import { indexJob } from '../../../src/roles/master/index-job.ts';
import { openTaskFiles } from '../../../src/roles/trainer/tasks/task-files.ts';
import { LocalTraining } from '../local-training.ts';
import type { Printed } from './peers.ts';

const [path, folder] = process.argv.slice(2) as [string, string];
const host = createHost({ logLevel: 'error', logFormat: 'text', identity: ownIdentity('alone') });

function recordOf(job: Job, dataset: Dataset): JobRecord {
  const train = trainFactsOf(dataset);
  const facts = { created: 0, dataDir: folder, batchPlanId: batchPlanId(job, train.digest), train };
  return { version: JOB_RECORD_VERSION, id: host.random.uuid(), units: unitsOf(job), job, ...facts };
}

async function readTasks(place: DataPlace, record: JobRecord, dataset: Dataset): Promise<TaskRecords[]> {
  const { batchSize } = record.job.training;
  const files = openTaskFiles(place, record, modelOf(record), { batchSize, part: 'train' });
  const tasks: TaskRecords[] = [];
  for (let task = 0; task < dataset.tasks.length; task++) tasks.push(await files.read(taskChunks(dataset, task)));
  await files.close();
  return tasks;
}

/** Mean loss of the last pass. */
function train(record: JobRecord, tasks: readonly TaskRecords[]): number {
  const { batchSize, passes, seed } = record.job.training;
  const training = new LocalTraining(modelOf(record), trainedSpecOf(record), seed);
  let loss = 0;
  for (let pass = 0; pass < passes; pass++) {
    loss = 0;
    for (const task of tasks) {
      for (let from = 0; from < task.records; from += batchSize) {
        loss += training.step(task.batch(from, Math.min(task.records, from + batchSize))).loss;
      }
    }
  }
  return loss / record.train.records;
}

const cacheFolder = mkdtempSync(join(tmpdir(), 'paddlet-alone-'));
const place = { host, folder, cacheFolder };
const beganMs = performance.now();
const loaded = await loadJob({ path, sets: [], dataDir: folder, disk: host.disk });
const { job, data } = await indexJob(place, loaded.job);
const dataset = data.train;
const record = recordOf(job, dataset);
const tasks = await readTasks(place, record, dataset);
rmSync(cacheFolder, { recursive: true });
const readMs = performance.now();
const used = process.cpuUsage();
const loss = train(record, tasks);
const { user, system } = process.cpuUsage(used);
const times = { readMs: readMs - beganMs, trainMs: performance.now() - readMs, cpuMs: (user + system) / 1000 };
const printed: Printed = { ...times, records: record.train.records, loss };
process.stdout.write(`${JSON.stringify(printed)}\n`);
