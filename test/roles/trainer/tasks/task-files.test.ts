import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DiskFile } from '../../../../src/base/seams.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import type { DataPlace } from '../../../../src/data/place.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import type { TaskChunks } from '../../../../src/protocol/messages/all-messages.ts';
import { openTaskFiles } from '../../../../src/roles/trainer/tasks/task-files.ts';
import { testPlace } from '../../../data/place.ts';

const real = testPlace();
const record = {
  job: { data: { format: 'libsvm' } },
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
