import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DiskFile } from '../../../../src/base/seams.ts';
import { modelOf } from '../../../../src/cluster/job/job-model.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import type { DataPlace } from '../../../../src/data/place.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import { jobFileSchema, resolveJob } from '../../../../src/job/schema.ts';
import type { TaskChunks } from '../../../../src/protocol/messages/all-messages.ts';
import { loadDataset, taskChunks, trainFactsOf } from '../../../../src/roles/master/dataset.ts';
import { openTaskFiles } from '../../../../src/roles/trainer/tasks/task-files.ts';
import { asPublished, recordOf } from '../../../cluster/job/stored-job.ts';
import { testPlace } from '../../../data/place.ts';

const real = testPlace();
const record = {
  job: { data: { format: 'libsvm' }, training: {} },
  train: { featureBound: '10', labelBound: 2 },
} as unknown as JobRecord;

/** Counts the files that are open. */
function counting(): { place: DataPlace; files: { opened: number; open: number } } {
  const files = { opened: 0, open: 0 };
  const open = async (path: string): Promise<DiskFile> => {
    const file = await real.host.disk.open(path);
    files.opened += 1;
    files.open += 1;
    const close = async (): Promise<void> => {
      files.open -= 1;
      await file.close();
    };
    return { read: (...args) => file.read(...args), size: () => file.size(), close } as DiskFile;
  };
  return { place: { ...real, host: { ...real.host, disk: { ...real.host.disk, open } } as DataPlace['host'] }, files };
}

/** Tasks of two records, of a file of that name. */
async function tasksOf(name: string): Promise<TaskChunks[]> {
  writeFileSync(join(real.folder, name), '1 1:1\n0 1:1\n1 2:1\n0 2:1\n');
  const index = await buildIndex(real, { what: name, format: 'libsvm', recordsPerTask: 2 });
  const files = index.files.map(({ path, bytes, records }) => ({ path, bytes, records }));
  return cutTasks(index, 2).map((chunks) => ({ files, chunks: [...chunks] }));
}

test('tasks of the same file open it once; another file closes it', async () => {
  const { place, files } = counting();
  const reader = openTaskFiles(place, record, { task: 'binary' } as never, { batchSize: 2, part: 'train' });
  const [a, b] = [await tasksOf('one.txt'), await tasksOf('two.txt')];
  const read = await Promise.all(a.map((task) => reader.read(task)));
  expect(read.map(({ records }) => records)).toEqual([2, 2]);
  expect(files).toEqual({ opened: 1, open: 1 });
  await Promise.all([...a, ...b, ...a].map((task) => reader.read(task)));
  expect(files.open).toBe(1);
  await reader.close();
  expect(files.open).toBe(0);
});

test('features have their fields where the model reads them, of text and of columns', async () => {
  const fieldsIn = async (data: object, type: string): Promise<unknown> => {
    const job = asPublished(
      resolveJob(jobFileSchema.parse({ name: 'f', data: { train: 'f.txt', ...data }, model: { type } })),
    );
    const dataset = await loadDataset(real, job, ['f.txt'], [], 'train');
    const record = recordOf(job, { train: trainFactsOf(dataset) });
    const reader = openTaskFiles(real, record, modelOf(record), { batchSize: 2, part: 'train' });
    const task = await reader.read(taskChunks(dataset, 0));
    await reader.close();
    const [input] = task.batch(0, 2).sparse;
    return input!.fields && [record.train.fieldBound, ...input!.fields];
  };
  writeFileSync(join(real.folder, 'f.txt'), '1 5:1:1 2:2:1\n0 3:1:1\n');
  expect(await fieldsIn({ format: 'libffm' }, 'ffm')).toEqual([6, 5, 2, 3]);
  expect(await fieldsIn({ format: 'libffm' }, 'lr')).toBeUndefined();
  writeFileSync(join(real.folder, 'f.txt'), 'a,y,b\nx,1,2\nz,0,\n');
  const columns = { a: 'category', y: 'label', b: 'number' };
  expect(await fieldsIn({ format: 'csv', columns }, 'ffm')).toEqual([2, 0, 1, 0, 1, 1]);
  expect(await fieldsIn({ format: 'csv', columns }, 'fm')).toBeUndefined();
});

test('after a failure the file is opened again: it may be another one by now', async () => {
  const { place, files } = counting();
  const reader = openTaskFiles(place, record, { task: 'binary' } as never, { batchSize: 2, part: 'train' });
  const [first, second] = await tasksOf('three.txt');
  await reader.read(first!);
  const wrong = { ...second!, chunks: second!.chunks.map((chunk) => ({ ...chunk, crc32: chunk.crc32 ^ 1 })) };
  await expect(reader.read(wrong)).rejects.toMatchObject({ code: 'DataChanged' });
  expect(files.open).toBe(0);
  expect((await reader.read(second!)).records).toBe(2);
  expect(files.opened).toBe(2);
  await reader.close();
});
