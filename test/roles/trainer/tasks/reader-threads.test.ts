/** Tasks that other threads read, beside the same tasks read by the trainer's own thread. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import type { Disk, Thread } from '../../../../src/base/seams.ts';
import { modelOf } from '../../../../src/cluster/job/job-model.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { readTasks } from '../../../../src/commands/trainer/thread.ts';
import { ReaderThreads } from '../../../../src/data/readers/reader-threads.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import { createDisk } from '../../../../src/host/disk.ts';
import { jobFileSchema, resolveJob } from '../../../../src/job/schema.ts';
import { settleRecords } from '../../../../src/job/settle-records.ts';
import { loadDataset, taskChunks, trainFactsOf } from '../../../../src/roles/master/dataset.ts';
import { openTaskFiles, parsedCacheOf, readerThreadDataOf } from '../../../../src/roles/trainer/tasks/task-files.ts';
import { recordOf } from '../../../cluster/job/stored-job.ts';
import { shown } from '../../../data/parsed/compare.ts';
import { type TestPlace, testPlace } from '../../../data/place.ts';

const BATCH = 3;
const RECORDS_PER_TASK = 6;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** As a thread of the executable does it: a channel copies and moves messages as between threads. */
function threadOf(data: NonNullable<ReturnType<typeof readerThreadDataOf>>): Thread {
  const { port1, port2 } = new MessageChannel();
  readTasks(port2, structuredClone(data));
  return {
    send: (message, moved = []) => port1.postMessage(message, [...moved]),
    onMessage: (run) => void port1.on('message', run),
    onEnd: (run) => void port1.on('close', () => run(new Error('closed'))),
    close: async () => port1.close(),
  };
}

interface Opened {
  readonly place: TestPlace;
  readonly record: JobRecord;
  read(task: number, readers: number): Promise<TaskRecords>;
  readonly tasks: number;
  /** Paths of files that the trainer's own thread has opened. */
  readonly opened: string[];
}

async function opened(files: Readonly<Record<string, string>>, job: object, training: object = {}): Promise<Opened> {
  const paths: string[] = [];
  const open: Disk['open'] = (path) => {
    paths.push(path);
    return createDisk().open(path);
  };
  const place = testPlace({ disk: { open } });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.folder, name), text);
  const file = { name: 't', model: { type: 'lr' }, training: { batchSize: BATCH, ...training } };
  const data = { train: Object.keys(files), ...job };
  const requested = resolveJob(jobFileSchema.parse({ ...file, data }));
  const resolved = settleRecords(requested, RECORDS_PER_TASK);
  const dataset = await loadDataset(place, resolved, Object.keys(files), [], 'train');
  const record = recordOf(resolved, { train: trainFactsOf(dataset) });
  const model = modelOf(record);
  const readersOf = (count: number): ReaderThreads => {
    const start = (): Thread => threadOf(readerThreadDataOf(place, record, model)!);
    return new ReaderThreads({ count, bytesBeforeStart: 0, start, log: place.host.log });
  };
  const openWith = (count: number) => {
    const threads = count === 0 ? undefined : readersOf(count);
    const cache = parsedCacheOf(place, record.job);
    const reader = openTaskFiles(place, record, model, { batchSize: BATCH, part: 'train', cache, threads });
    closing.push(async () => {
      await reader.close();
      await threads?.close();
    });
    return reader;
  };
  const byCount = new Map<number, ReturnType<typeof openWith>>();
  return {
    ...{ place, record, tasks: dataset.tasks.length, opened: paths },
    read(task, count) {
      const reader = byCount.get(count) ?? openWith(count);
      byCount.set(count, reader);
      return reader.read(taskChunks(dataset, task));
    },
  };
}

const SPARSE = Array.from({ length: 20 }, (_, at) =>
  at % 7 === 3 ? 'bad\n' : `${at % 2} ${at}:1 ${at + 40}:0.5\n`,
).join('');
const CSV = `y,a,b\n${Array.from({ length: 20 }, (_, at) => (at % 9 === 4 ? 'x,1\n' : `${at % 2},${at},w${at % 5}\n`)).join('')}`;
const COLUMNS = { y: 'label', a: 'number', b: 'category' };
const OFF = { cache: 'off' };

test.each([
  ['libsvm', { 'a.txt': SPARSE, 'b.txt': SPARSE }, {}],
  ['csv', { 'a.csv': CSV, 'b.csv': CSV }, { columns: COLUMNS }],
])('tasks of %s have the bits of those that the trainer reads itself', async (format, files, columns) => {
  const job = await opened(files, { format, ...columns, ...OFF });
  expect(job.tasks).toBeGreaterThan(4);
  const tasks = Array.from({ length: job.tasks }, (_, task) => task);
  for (const readers of [1, 3]) {
    const read = await Promise.all(tasks.map((task) => job.read(task, readers)));
    for (const task of tasks) expect(shown(read[task]!, BATCH)).toEqual(shown(await job.read(task, 0), BATCH));
  }
  expect((await job.read(0, 1)).bad.length).toBeGreaterThan(0);
});

test('a thread keeps what it parsed in the data cache, where the trainer finds it', async () => {
  const job = await opened({ 'a.txt': SPARSE }, { format: 'libsvm' }, { passes: 2 });
  const blocks = (): string[] =>
    readdirSync(join(job.place.cacheFolder, 'parsed')).filter((name) => name.endsWith('.block'));
  const first = shown(await job.read(0, 1), BATCH);
  await job.read(1, 1);
  expect(blocks().length).toBeGreaterThan(0);
  job.opened.length = 0;
  expect(shown(await job.read(0, 0), BATCH)).toEqual(first);
  expect(job.opened).toEqual([expect.stringMatching(/[.]block$/)]);
});

test('an error of a thread keeps its code and its hint', async () => {
  const job = await opened({ 'a.txt': SPARSE }, { format: 'libsvm', ...OFF });
  writeFileSync(join(job.place.folder, 'a.txt'), `${SPARSE}1 1:1\n`);
  const own = await job.read(0, 0).catch((error: unknown) => error);
  const { message, code, hint } = own as { message: string; code: string; hint: string | undefined };
  expect(code).toBe('DataChanged');
  await expect(job.read(0, 1)).rejects.toMatchObject({ message, code, hint });
});

test('a thread logs with the log of its process', async () => {
  const job = await opened({ 'a.txt': SPARSE }, { format: 'libsvm' }, { passes: 2 });
  // A file where the folder of parsed tasks should be made.
  writeFileSync(join(job.place.cacheFolder, 'parsed'), '');
  await job.read(0, 1);
  await job.read(1, 1);
  await expect.poll(() => job.place.warnings).toContain('paddlet stops keeping parsed tasks in the data cache');
});

test('tasks of a format that is not parsed are read by the trainer itself', async () => {
  const job = { data: { format: 'idx' }, training: { batchSize: 1, passes: 1 } };
  expect(readerThreadDataOf(testPlace(), { job } as never, {} as never)).toBeUndefined();
});
