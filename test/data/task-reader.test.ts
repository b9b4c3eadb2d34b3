import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import type { DataFormat } from '../../src/data/formats/registry.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import type { LabelRule } from '../../src/data/labels.ts';
import { ParsedCache } from '../../src/data/parsed/cache.ts';
import type { Chunk, DataIndex } from '../../src/data/source.ts';
import { createTaskReader, type TaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { createDisk } from '../../src/host/disk.ts';
import type { Batch } from '../../src/model/model.ts';
import { isRealDataMissing, REAL_DATA, testPlace } from './place.ts';

const place = testPlace();
const write = (name: string, content: string | Buffer): void => writeFileSync(join(place.folder, name), content);
const BINARY: LabelRule = { task: 'binary' };

async function opened(what: string | string[], format: DataFormat, recordsPerTask: number, labels = BINARY) {
  const index = await buildIndex(place, { what, format, recordsPerTask });
  const reader = readerOf(index, labels);
  return { index, reader, tasks: cutTasks(index, recordsPerTask) };
}

const readerOf = (index: DataIndex, labels: LabelRule): TaskReader =>
  createTaskReader(place, {
    format: index.format as DataFormat,
    files: index.files,
    labels,
    inputWidth: Number(index.featureBound),
    batchSize: 3,
  });

describe('reading tasks of text', () => {
  test('every record once, in order, from plain and gzip files alike', async () => {
    const line = (at: number): string => (at % 10 === 3 ? `1 bad${at}\r\n` : `${at % 2} ${at}:${at}\r\n`);
    const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => line(from + at)).join('');
    write('a.txt', lines(0, 45));
    write('b.gz', gzipSync(lines(45, 100)));
    const { reader, tasks } = await opened(['a.txt', 'b.gz'], 'libsvm', 8);
    const seen: number[] = [];
    const bad: string[] = [];
    for (const chunks of tasks) {
      const task = await reader.read(chunks);
      for (let from = 0; from < task.records; from += 3) {
        const batch = task.batch(from, Math.min(from + 3, task.records));
        seen.push(...batch.sparse[0]!.values!);
      }
      bad.push(...task.bad.map((record) => `${record.file}:${record.line}`));
    }
    await reader.close();
    expect(seen).toEqual(Array.from({ length: 100 }, (_, at) => at).filter((at) => at % 10 !== 3));
    expect(bad).toEqual([
      'a.txt:4',
      'a.txt:14',
      'a.txt:24',
      'a.txt:34',
      'a.txt:44',
      'b.gz:9',
      'b.gz:19',
      'b.gz:29',
      'b.gz:39',
      'b.gz:49',
    ]);
  });

  test('a task over two files describes both', async () => {
    write('c.txt', '1 1:1\n0 1:1\n');
    write('d.txt', '1 1:1\n0 1:1\n');
    const { reader, tasks } = await opened(['c.txt', 'd.txt'], 'libsvm', 3);
    const task = await reader.read(tasks[0]!);
    await reader.close();
    expect(task.describe(0, 3)).toBe('c.txt, lines 1 to 2; d.txt, line 1');
    expect(task.describe(2, 3)).toBe('d.txt, line 1');
  });

  test('data that changed since it was indexed is refused', async () => {
    write('e.txt', '1 1:1\n0 1:1\n');
    const { index, reader, tasks } = await opened('e.txt', 'libsvm', 1);
    await reader.read(tasks[0]!);
    write('e.txt', '1 1:1\n0 1:2\n');
    await reader.read(tasks[0]!);
    await expect(reader.read(tasks[1]!)).rejects.toMatchObject({ code: 'DataChanged' });
    await reader.close();
    write('e.txt', '1 1:1\n0 1:1\n1 1:1\n');
    const later = readerOf(index, BINARY);
    await expect(later.read(tasks[0]!)).rejects.toMatchObject({ code: 'DataChanged' });
    await later.close();
  });

  test.each([
    ['of a file not in the index', { file: 7 }],
    ['beyond the end', { offset: 8 }],
    ['of more records than bytes', { records: 2 ** 40 }],
    ['larger than any', { bytes: 2 ** 40 }],
  ])('a chunk %s is refused before anything is allocated', async (_, wrong: Partial<Chunk>) => {
    write('f.txt', '1 1:1\n0 1:1\n');
    const { reader, tasks } = await opened('f.txt', 'libsvm', 10);
    await expect(reader.read([{ ...tasks[0]![0]!, ...wrong }])).rejects.toMatchObject({ code: 'DataChanged' });
    await reader.close();
  });

  test('few files are open at a time, however many a task is of', async () => {
    const disk = createDisk();
    let open = 0;
    let most = 0;
    const counting = testPlace({
      disk: {
        async open(path) {
          const file = await disk.open(path);
          most = Math.max(most, ++open);
          const close = async (): Promise<void> => {
            open -= 1;
            await file.close();
          };
          return { ...file, close };
        },
      },
    });
    const names = Array.from({ length: 100 }, (_, at) => `many-${at}.txt`);
    for (const [at, name] of names.entries()) writeFileSync(join(counting.folder, name), `1 ${at}:1\n0 ${at}:1\n`);
    const index = await buildIndex(counting, { what: names, format: 'libsvm', recordsPerTask: 100 });
    const { files } = index;
    const reader = createTaskReader(counting, {
      ...{ format: 'libsvm', files, labels: BINARY, inputWidth: 100, batchSize: 3 },
    });
    const [one, two] = cutTasks(index, 100);
    const read = await Promise.all([one!, two!, one!].map((chunks) => reader.read(chunks)));
    expect(read.map(({ records, bad }) => [records, bad.length])).toEqual([1, 2, 3].map(() => [100, 0]));
    expect(open).toBe(LIMITS.openDataFiles);
    // One for each task that is being read.
    expect(most).toBeLessThanOrEqual(LIMITS.openDataFiles + 3);
    await reader.close();
    expect(open).toBe(0);
  });

  test('a released task is not read, and another task gets its memory', async () => {
    const lines = (label: number): string =>
      Array.from({ length: 6000 }, (_, at) => `${label} ${at}:2 9:${at}\n`).join('');
    write('h.txt', lines(0) + lines(1));
    const { reader, tasks } = await opened('h.txt', 'libsvm', 6000);
    const whole = async (task: number) => {
      const records = await reader.read(tasks[task]!);
      const batch = records.batch(0, 3);
      const { rows, values } = batch.sparse[0]!;
      return { records, batch, memory: [rows.buffer, values!.buffer] };
    };
    const [first, second] = [await whole(0), await whole(1)];
    const before = structuredClone(second.batch);
    first.records.release!();
    first.records.release!();
    const after = [await whole(1), await whole(1)];
    await reader.close();
    const used = [...second.memory, ...after.flatMap(({ memory }) => memory)];
    expect(new Set(used).size).toBe(6);
    expect(used).toEqual(expect.arrayContaining(first.memory));
    for (const { batch } of after) expect(batch).toEqual(before);
    expect(() => first.records.batch(0, 3)).toThrow('after they were released');
    expect(() => first.records.pick(Uint32Array.of(0))).toThrow('after they were released');
    expect(() => first.records.goodBefore(1)).toThrow('after they were released');
  });

  test('the memory of a task that is kept in the cache stays there', async () => {
    write('i.txt', '1 1:1\n0 2:1\n');
    const index = await buildIndex(place, { what: 'i.txt', format: 'libsvm', recordsPerTask: 2 });
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    const options = {
      format: 'libsvm',
      files: index.files,
      labels: BINARY,
      inputWidth: 0,
      batchSize: 2,
      cache,
    } as const;
    const reader = createTaskReader(place, options);
    const [task] = cutTasks(index, 2);
    expect((await reader.read(task!)).release).toBeTypeOf('function');
    await reader.close();
    const kept = createTaskReader(place, options);
    expect((await kept.read(task!)).release).toBeUndefined();
    await kept.close();
  });

  test('a file that comes back is read', async () => {
    write('g.txt', '1 1:1\n');
    const { index, reader, tasks } = await opened('g.txt', 'libsvm', 10);
    await reader.close();
    const elsewhere = testPlace();
    const other = createTaskReader(elsewhere, {
      format: 'libsvm',
      files: index.files,
      labels: BINARY,
      inputWidth: 0,
      batchSize: 3,
    });
    await expect(other.read(tasks[0]!)).rejects.toMatchObject({ code: 'DataMissing' });
    writeFileSync(join(elsewhere.folder, 'g.txt'), '1 1:1\n');
    expect((await other.read(tasks[0]!)).records).toBe(1);
    await other.close();
  });
});

/** idx files of `count` images of 2 × 3 inputs; pixel p of image i is i + p, label i % 4. */
function idxPair(count: number): { images: Buffer; labels: Buffer } {
  const images = Buffer.alloc(16 + count * 6);
  for (const [at, value] of [2051, count, 2, 3].entries()) images.writeUInt32BE(value, 4 * at);
  const labels = Buffer.alloc(8 + count);
  for (const [at, value] of [2049, count].entries()) labels.writeUInt32BE(value, 4 * at);
  for (let i = 0; i < count; i++) {
    for (let p = 0; p < 6; p++) images[16 + i * 6 + p] = i + p;
    labels[8 + i] = i % 4;
  }
  return { images, labels };
}

function writeIdx(name: string, count: number): void {
  const { images, labels } = idxPair(count);
  write(`${name}-images-idx3-ubyte`, images);
  write(`${name}-labels-idx1-ubyte`, gzipSync(labels));
}

describe('reading tasks of idx files', () => {
  const CLASSES: LabelRule = { task: 'multiclass', classes: 4 };

  test('images and labels, by tasks that lie across files', async () => {
    writeIdx('x', 5);
    writeIdx('y', 4);
    const names = ['x-images-idx3-ubyte', 'y-images-idx3-ubyte'];
    const { index, reader, tasks } = await opened(names, 'idx', 3, CLASSES);
    expect(index).toMatchObject({ records: 9, featureBound: '6', labelBound: 4 });
    expect(tasks.length).toBe(3);
    const task = await reader.read(tasks[1]!);
    const batch = task.batch(0, 3);
    await reader.close();
    expect([...batch.labels]).toEqual([3, 0, 0]);
    const pixels = [3, 4, 5, 6, 7, 8, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5];
    expect(batch.dense).toEqual([{ width: 6, values: Uint8Array.from(pixels) }]);
    const picked = task.pick(Uint32Array.of(2, 0));
    expect([...picked.labels]).toEqual([0, 3]);
    expect(picked.dense).toEqual([{ width: 6, values: Uint8Array.from([...pixels.slice(12), ...pixels.slice(0, 6)]) }]);
    expect(task.describe(0, 3)).toBe('x-images-idx3-ubyte, records 4 to 5; y-images-idx3-ubyte, record 1');
  });

  test('labels that the model does not know are bad records', async () => {
    writeIdx('z', 5);
    const { reader, tasks } = await opened('z-images-idx3-ubyte', 'idx', 10, { task: 'multiclass', classes: 3 });
    const task = await reader.read(tasks[0]!);
    await reader.close();
    expect(task.bad).toEqual([
      { file: 'z-images-idx3-ubyte', line: 4, byteOffset: 34, reason: 'label 3 is not a whole number from 0 to 2' },
    ]);
    const batch = task.batch(2, 5);
    expect([...batch.labels]).toEqual([2, 0]);
    expect(batch.dense[0]!.values[6]).toBe(4);
  });

  test('a released task is not read, and another task gets its memory', async () => {
    writeIdx('v', 24_000);
    const { reader, tasks } = await opened('v-images-idx3-ubyte', 'idx', 12_000, CLASSES);
    const memoryOf = (values: Batch): ArrayBufferLike => values.dense[0]!.values.buffer;
    const first = await reader.read(tasks[0]!);
    const memory = memoryOf(first.batch(0, 3));
    const beside = await reader.read(tasks[1]!);
    expect(memoryOf(beside.batch(0, 3))).not.toBe(memory);
    first.release!();
    first.release!();
    const after = await Promise.all([reader.read(tasks[1]!), reader.read(tasks[1]!)]);
    await reader.close();
    expect(after.filter((task) => memoryOf(task.batch(0, 3)) === memory)).toHaveLength(1);
    for (const task of after) expect(task.batch(0, 3)).toEqual(beside.batch(0, 3));
    expect(() => first.batch(0, 1)).toThrow('after they were released');
    expect(() => first.pick(Uint32Array.of(0))).toThrow('after they were released');
  });

  test('labels are taken in the order listed, by name, or as the only other file', async () => {
    const { images, labels } = idxPair(3);
    write('p', images);
    write('q', labels);
    const request = { format: 'idx', recordsPerTask: 10 } as const;
    const pair = { path: 'p', labels: { path: 'q' } };
    expect((await buildIndex(place, { ...request, what: ['q', 'p'] })).files).toMatchObject([pair]);
    expect((await buildIndex(place, { ...request, what: 'p', labels: ['q'] })).files).toMatchObject([pair]);
    await expect(buildIndex(place, { ...request, what: 'p' })).rejects.toMatchObject({ code: 'DataMissing' });
    await expect(buildIndex(place, { ...request, what: ['p'], labels: ['q', 'q'] })).rejects.toThrow(
      'expected as many files of labels as of images, got 2 and 1',
    );
    await expect(buildIndex(place, { ...request, what: 'q', labels: ['p'] })).rejects.toThrow(
      'q contains labels, not images',
    );
  });

  test('a changed label is noticed', async () => {
    const { images, labels } = idxPair(3);
    write('r', images);
    write('s', labels);
    const { reader, tasks } = await opened(['r', 's'], 'idx', 10, CLASSES);
    labels[9] = 0;
    write('s', labels);
    await expect(reader.read(tasks[0]!)).rejects.toMatchObject({ code: 'DataChanged' });
    await reader.close();
  });

  test('a model for other images is refused', async () => {
    writeIdx('w', 2);
    const { index, tasks } = await opened('w-images-idx3-ubyte', 'idx', 10, CLASSES);
    const reader = createTaskReader(place, {
      format: 'idx',
      files: index.files,
      labels: CLASSES,
      inputWidth: 7,
      batchSize: 3,
    });
    await expect(reader.read(tasks[0]!)).rejects.toThrow('as the model expects, got 6');
    await reader.close();
  });

  test.each([
    ['no idx', (pair: ReturnType<typeof idxPair>) => pair.images.writeUInt32BE(2050, 0), 'begins with 2050'],
    ['too short', (pair: ReturnType<typeof idxPair>) => pair.images.writeUInt32BE(4, 4), 'header promises 40'],
    ['without pixels', (pair: ReturnType<typeof idxPair>) => pair.images.writeUInt32BE(0, 8), 'has 0 inputs'],
    ['huge', (pair: ReturnType<typeof idxPair>) => pair.images.writeUInt32BE(0xffffffff, 8), 'inputs a record (1 to'],
    ['of other labels', (pair: ReturnType<typeof idxPair>) => pair.labels.writeUInt32BE(2, 4), 'promises 10'],
  ])('an idx file that is %s', async (_, damage, message) => {
    const pair = idxPair(3);
    damage(pair);
    write('t', pair.images);
    write('u', pair.labels);
    const building = buildIndex(place, { what: 't', labels: ['u'], format: 'idx', recordsPerTask: 10 });
    await expect(building).rejects.toMatchObject({ code: 'DataInvalid', message: expect.stringContaining(message) });
  });

  test('text is no idx', async () => {
    write('v', '1 1:1\n');
    await expect(buildIndex(place, { what: 'v', format: 'idx', recordsPerTask: 1 })).rejects.toMatchObject({
      code: 'DataInvalid',
      hint: 'check the file and data.format',
    });
  });

  test.skipIf(isRealDataMissing)('MNIST', async () => {
    const real = testPlace({ folder: REAL_DATA });
    const what = 'mnist/t10k-images-idx3-ubyte.gz';
    const index = await buildIndex(real, { what, format: 'idx', recordsPerTask: 1000 });
    expect(index).toMatchObject({ records: 10_000, featureBound: '784', labelBound: 10 });
    const labels = { task: 'multiclass', classes: 10 } as const;
    const reader = createTaskReader(real, { format: 'idx', files: index.files, labels, inputWidth: 784, batchSize: 3 });
    const task = await reader.read(cutTasks(index, 1000)[9]!);
    await reader.close();
    expect(task).toMatchObject({ records: 1000, bad: [] });
    const { dense, labels: classes } = task.batch(990, 1000);
    expect([...classes]).toEqual([7, 8, 9, 0, 1, 2, 3, 4, 5, 6]);
    expect(Math.max(...dense[0]!.values)).toBe(255);
  });
});
