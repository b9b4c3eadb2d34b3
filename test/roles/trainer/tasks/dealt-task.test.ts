/** The records of a task as a trainer in async mode gets them. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shuffledTask } from '../../../../src/core/shuffle.ts';
import { BadRecordFiles, badRecordFolder } from '../../../../src/data/bad-record-files.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import { parseJobFile } from '../../../../src/job/load-job.ts';
import { createLinear } from '../../../../src/model/lr.ts';
import type { DealtTask } from '../../../../src/protocol/messages/dealt-task.ts';
import { type ReadingOptions, TaskReading } from '../../../../src/roles/trainer/tasks/dealt-task.ts';
import { testPlace } from '../../../data/place.ts';

const RECORDS = 40;
const SEED = 7;

test('records are shuffled by seed, pass and task where the job says so, but not those of an evaluation', async () => {
  const place = testPlace();
  writeFileSync(join(place.folder, 'x.txt'), Array.from({ length: RECORDS }, (_, at) => `1 1:${at}\n`).join(''));
  const index = await buildIndex(place, { what: 'x.txt', format: 'libsvm', recordsPerTask: RECORDS });
  const files = index.files.map(({ path, bytes, records }) => ({ path, bytes, records }));
  const [chunks] = cutTasks(index, RECORDS);
  const valuesOf = async (queue: DealtTask['queue'], pass: number, shuffle: string): Promise<number[]> => {
    const text = `name: a\ndata: { train: x.txt, format: libsvm, shuffle: ${shuffle} }\nmodel: { type: lr }\n`;
    const job = parseJobFile('job.yaml', `${text}training: { seed: ${SEED} }\n`);
    const options = {
      place,
      badRecords: new BadRecordFiles(place.host, place.folder, ''),
      record: { job, train: { featureBound: '2', labelBound: 2 } },
      model: createLinear(),
      activity: { times: undefined },
      stopSignal: new AbortController().signal,
    } as unknown as ReadingOptions;
    const dealt: DealtTask = { queue, pass, task: 3, attempt: 1, files, chunks: [...chunks!] };
    const reading = new TaskReading(options);
    const records = await reading.begin(dealt).records;
    await reading.close();
    return [...records.batch(0, RECORDS).sparse[0]!.values!];
  };
  const inOrder = Array.from({ length: RECORDS }, (_, at) => at);
  for (const pass of [0, 1]) {
    const order = [...shuffledTask(RECORDS, SEED, pass, 3)];
    expect(await valuesOf('train', pass, 'records')).toEqual(order);
    // A task that is repaired has the pushes that it had.
    expect(await valuesOf('repair', pass, 'records')).toEqual(order);
    expect(await valuesOf('evaluate', pass, 'records')).toEqual(inOrder);
    expect(await valuesOf('train', pass, 'tasks')).toEqual(inOrder);
  }
});

test('bad records are listed, also of a task that fails because of them', async () => {
  const place = testPlace();
  writeFileSync(join(place.folder, 'x.txt'), '1 1:1\n1 x:1\n');
  const index = await buildIndex(place, { what: 'x.txt', format: 'libsvm', recordsPerTask: RECORDS });
  const files = index.files.map(({ path, bytes, records }) => ({ path, bytes, records }));
  const [chunks] = cutTasks(index, RECORDS);
  const badRecords = new BadRecordFiles(place.host, place.folder, 'abcdef01');
  const options = {
    ...{ place, badRecords, model: createLinear(), activity: { times: undefined } },
    record: {
      job: parseJobFile('job.yaml', 'name: a\ndata: { train: x.txt, format: libsvm }\nmodel: { type: lr }\n'),
      train: { featureBound: '2', labelBound: 2 },
    },
    stopSignal: new AbortController().signal,
  } as unknown as ReadingOptions;
  const reading = new TaskReading(options);
  for (const [task, queue] of [
    [7, 'train'],
    [7, 'repair'],
    [8, 'evaluate'],
  ] as const) {
    const dealt: DealtTask = { queue, pass: 0, task, attempt: 1, files, chunks: [...chunks!] };
    await expect(reading.begin(dealt).records).rejects.toMatchObject({ code: 'TooManyBadRecords' });
  }
  await reading.close();
  expect(readdirSync(badRecordFolder(place.folder)).sort()).toEqual([
    'test-8-abcdef01.jsonl',
    'train-7-abcdef01.jsonl',
  ]);
});
