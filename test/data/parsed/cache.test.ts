/** Tasks read from the data cache, beside the same tasks parsed from the data. */
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Disk } from '../../../src/base/seams.ts';
import type { DataFormat } from '../../../src/data/formats/registry.ts';
import { buildIndex } from '../../../src/data/index-builder.ts';
import type { LabelRule } from '../../../src/data/labels.ts';
import { ParsedCache } from '../../../src/data/parsed/cache.ts';
import type { Chunk, DataIndex, TaskRecords } from '../../../src/data/source.ts';
import { createTaskReader } from '../../../src/data/task-reader.ts';
import { cutTasks } from '../../../src/data/tasks.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { type TestPlace, testPlace } from '../place.ts';
import { shown } from './compare.ts';

const BINARY: LabelRule = { task: 'binary' };
const RECORDS_PER_TASK = 20;
const BATCH = 8;

/** Plain values, values, groups, bad records, comments, files of both kinds. */
function lineOf(at: number, isPlain: boolean): string {
  if (at % 13 === 5) return `1 bad${at}\n`;
  const value = isPlain ? 1 : at % 7 === 0 ? '0.30000000000000004' : at / 8;
  const group = at % 11 === 3 ? `qid:${at} ` : '';
  const text = `${at % 2} ${group}${at % 5}:1 ${(at * 7) % 11}:${value} ${at % 3 === 0 ? '18446744073709551615:1' : ''}\n`;
  return at % 9 === 4 ? `# comment\n\n${text}` : text;
}

const textOf = (from: number, to: number, isPlain = false): string =>
  Array.from({ length: to - from }, (_, at) => lineOf(from + at, isPlain)).join('');

interface Made {
  readonly place: TestPlace;
  readonly index: DataIndex;
  readonly tasks: readonly (readonly Chunk[])[];
}

async function made(disk: Partial<Disk> = {}): Promise<Made> {
  const place = testPlace({ disk });
  writeFileSync(join(place.folder, 'a.txt'), textOf(0, 50));
  writeFileSync(join(place.folder, 'b.gz'), gzipSync(textOf(50, 90, true)));
  const index = await buildIndex(place, {
    what: ['a.txt', 'b.gz'],
    format: 'libsvm',
    recordsPerTask: RECORDS_PER_TASK,
  });
  return { place, index, tasks: cutTasks(index, RECORDS_PER_TASK) };
}

interface How {
  readonly cache?: ParsedCache | undefined;
  readonly batchSize?: number;
  readonly labels?: LabelRule;
}

/** Each task, read by a reader of its own, as trainers do it. */
async function readAll({ place, index, tasks }: Made, { cache, batchSize = BATCH, labels = BINARY }: How = {}) {
  const all: TaskRecords[] = [];
  for (const chunks of tasks) {
    const format = index.format as DataFormat;
    const options = { format, files: index.files, labels, inputWidth: 0, batchSize };
    const reader = createTaskReader(place, cache === undefined ? options : { ...options, cache });
    all.push(await reader.read(chunks).finally(() => reader.close()));
  }
  return all;
}

const cacheOf = ({ place }: Made, bytes = 2 ** 30): ParsedCache => new ParsedCache(place, { bytes });
const blocksIn = ({ place }: Made): string[] => {
  const folder = join(place.cacheFolder, 'parsed');
  return readdirSync(folder).map((name) => join(folder, name));
};

/** Counts reads of data files: what comes from the cache needs none. */
function counting(): { disk: Partial<Disk>; opened: string[] } {
  const opened: string[] = [];
  const real = createDisk();
  const open: Disk['open'] = (path) => {
    opened.push(path);
    return real.open(path);
  };
  return { opened, disk: { open } };
}

describe('tasks from the cache', () => {
  test('have the bits of those that are parsed, in the first pass and in later ones', async () => {
    const { disk, opened } = counting();
    const set = await made(disk);
    for (const batchSize of [1, 3, 8, 20, 64]) {
      const plain = (await readAll(set, { batchSize })).map((task) => shown(task, batchSize));
      const first = (await readAll(set, { batchSize, cache: cacheOf(set) })).map((task) => shown(task, batchSize));
      opened.length = 0;
      const later = (await readAll(set, { batchSize, cache: cacheOf(set) })).map((task) => shown(task, batchSize));
      expect(first).toEqual(plain);
      expect(later).toEqual(plain);
      expect(opened.filter((path) => !path.endsWith('.block'))).toEqual([]);
    }
    expect(set.place.warnings).toEqual([]);
  });

  test('give batches that begin anywhere, too', async () => {
    const set = await made();
    await readAll(set, { cache: cacheOf(set) });
    const [plain, kept] = [await readAll(set), await readAll(set, { cache: cacheOf(set) })];
    for (const size of [3, 5, 7, 20]) {
      expect(kept.map((task) => shown(task, size))).toEqual(plain.map((task) => shown(task, size)));
    }
    // Of another size of block as well.
    const other = await readAll(set, { batchSize: 5 });
    expect(other.map((task) => shown(task, 8))).toEqual(plain.map((task) => shown(task, 8)));
  });

  test('of another label rule or batch size are others', async () => {
    const set = await made();
    const cache = cacheOf(set);
    await readAll(set, { cache });
    expect(blocksIn(set).length).toBe(set.tasks.length);
    const labels: LabelRule = { task: 'regression' };
    const [task] = await readAll(set, { cache, labels });
    expect(shown(task!, BATCH)).toEqual(shown((await readAll(set, { labels }))[0]!, BATCH));
    await readAll(set, { cache, batchSize: 4 });
    expect(blocksIn(set).length).toBe(3 * set.tasks.length);
  });

  test('are shared by readers that make them at the same time', async () => {
    const set = await made();
    const plain = (await readAll(set)).map((task) => shown(task, BATCH));
    const reads = await Promise.all(Array.from({ length: 4 }, () => readAll(set, { cache: cacheOf(set) })));
    for (const tasks of reads) expect(tasks.map((task) => shown(task, BATCH))).toEqual(plain);
    expect(blocksIn(set).filter((path) => !path.endsWith('.block'))).toEqual([]);
    expect(set.place.warnings).toEqual([]);
  });

  test('idx data is read as it is: it costs nothing to parse', async () => {
    const place = testPlace();
    const images = Buffer.alloc(16 + 6);
    for (const [at, value] of [2051, 1, 2, 3].entries()) images.writeUInt32BE(value, 4 * at);
    const labels = Buffer.alloc(9);
    for (const [at, value] of [2049, 1].entries()) labels.writeUInt32BE(value, 4 * at);
    writeFileSync(join(place.folder, 'x-images-idx3-ubyte'), images);
    writeFileSync(join(place.folder, 'x-labels-idx1-ubyte'), labels);
    const index = await buildIndex(place, { what: 'x-images-idx3-ubyte', format: 'idx', recordsPerTask: 1 });
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    const options = { format: 'idx' as const, files: index.files, labels: BINARY, inputWidth: 6, batchSize: 1 };
    const reader = createTaskReader(place, { ...options, cache });
    expect((await reader.read(cutTasks(index, 1)[0]!)).records).toBe(1);
    await reader.close();
    expect(existsSync(join(place.cacheFolder, 'parsed'))).toBe(false);
  });
});

describe('a data file that changes', () => {
  /** Rewrites a byte of the first record, in place, and sets a time of its own. */
  const change = (path: string): void => {
    writeFileSync(path, readFileSync(path, 'latin1').replace('0 0:1', '1 0:1'), 'latin1');
    utimesSync(path, 1, 1);
  };

  test('is refused, although its tasks are in the cache', async () => {
    const set = await made();
    await readAll(set, { cache: cacheOf(set) });
    change(join(set.place.folder, 'a.txt'));
    await expect(readAll(set, { cache: cacheOf(set) })).rejects.toMatchObject({ code: 'DataChanged' });
  });

  test('is refused even if its time is set back', async () => {
    const set = await made();
    const path = join(set.place.folder, 'a.txt');
    utimesSync(path, 1000, 1000);
    await readAll(set, { cache: cacheOf(set) });
    const { mtimeMs } = statSync(path);
    change(path);
    utimesSync(path, 1000, 1000);
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
    await expect(readAll(set, { cache: cacheOf(set) })).rejects.toMatchObject({ code: 'DataChanged' });
  });

  test('is refused when another file takes its name, and is read again when it comes back', async () => {
    const set = await made();
    await readAll(set, { cache: cacheOf(set) });
    const path = join(set.place.folder, 'a.txt');
    renameSync(path, `${path}.old`);
    await expect(readAll(set, { cache: cacheOf(set) })).rejects.toMatchObject({ code: 'DataMissing' });
    writeFileSync(path, `${textOf(0, 49)}1 1:1\n`);
    await expect(readAll(set, { cache: cacheOf(set) })).rejects.toMatchObject({ code: 'DataChanged' });
    renameSync(`${path}.old`, path);
    const plain = (await readAll(set)).map((task) => shown(task, BATCH));
    expect((await readAll(set, { cache: cacheOf(set) })).map((task) => shown(task, BATCH))).toEqual(plain);
  });

  test('only in its time is parsed once more, and kept as it is now', async () => {
    const { disk, opened } = counting();
    const set = await made(disk);
    await readAll(set, { cache: cacheOf(set) });
    utimesSync(join(set.place.folder, 'a.txt'), 7, 7);
    await readAll(set, { cache: cacheOf(set) });
    opened.length = 0;
    await readAll(set, { cache: cacheOf(set) });
    expect(opened.filter((path) => !path.endsWith('.block'))).toEqual([]);
    expect(blocksIn(set).length).toBe(set.tasks.length);
  });

  test('while it is read is not kept', async () => {
    const real = createDisk();
    const set = await made();
    // The file that is open stays what it was, and another one has its name.
    const open: Disk['open'] = async (path) => {
      const file = await real.open(path);
      if (path.endsWith('a.txt')) {
        const bytes = readFileSync(path);
        renameSync(path, `${path}.old`);
        writeFileSync(path, bytes);
      }
      return file;
    };
    const place = { ...set.place, host: { ...set.place.host, disk: { ...real, open } } };
    await readAll({ ...set, place, tasks: set.tasks.slice(0, 1) }, { cache: cacheOf(set) });
    expect(existsSync(join(place.cacheFolder, 'parsed'))).toBe(false);
  });
});

test('what an open file still has is not kept for the file that took its name', async () => {
  const set = await made();
  const { place, index, tasks } = set;
  const options = { format: 'libsvm' as const, files: index.files, labels: BINARY, inputWidth: 0, batchSize: BATCH };
  const reader = createTaskReader(place, { ...options, cache: cacheOf(set) });
  await reader.read(tasks[0]!);
  const path = join(place.folder, 'a.txt');
  const bytes = readFileSync(path);
  renameSync(path, `${path}.old`);
  writeFileSync(path, bytes);
  await reader.read(tasks[1]!);
  await reader.close();
  expect(blocksIn(set).length).toBe(1);
});

test('a block in memory is not believed after its data changed, nor one whose file was read before', async () => {
  const set = await made();
  const cache = cacheOf(set);
  const plain = (await readAll(set)).map((task) => shown(task, BATCH));
  for (let pass = 0; pass < 3; pass++) {
    expect((await readAll(set, { cache })).map((task) => shown(task, BATCH))).toEqual(plain);
  }
  const path = join(set.place.folder, 'a.txt');
  writeFileSync(path, readFileSync(path, 'latin1').replace('0 0:1', '1 0:1'), 'latin1');
  utimesSync(path, 1, 1);
  await expect(readAll(set, { cache })).rejects.toMatchObject({ code: 'DataChanged' });
});

describe('a damaged block', () => {
  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['cut off', (bytes) => bytes.subarray(0, bytes.length - 9)],
    ['empty', () => Buffer.alloc(0)],
    ['longer than it says', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
    [
      'with a changed bit',
      (bytes) => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 20 ? byte ^ 4 : byte))),
    ],
    ['something else', () => Buffer.from('1 1:1\n'.repeat(100))],
  ])('%s is parsed again and replaced', async (_, damage) => {
    const set = await made();
    const plain = (await readAll(set)).map((task) => shown(task, BATCH));
    await readAll(set, { cache: cacheOf(set) });
    const whole = blocksIn(set).map((path) => readFileSync(path));
    for (const path of blocksIn(set)) writeFileSync(path, damage(readFileSync(path)));
    expect((await readAll(set, { cache: cacheOf(set) })).map((task) => shown(task, BATCH))).toEqual(plain);
    expect(new Set(set.place.warnings)).toEqual(
      new Set(['a parsed task in the data cache is damaged; paddlet parses it again']),
    );
    expect(blocksIn(set).map((path) => readFileSync(path))).toEqual(whole);
  });

  test('of another task is not taken for this one', async () => {
    const set = await made();
    const plain = (await readAll(set)).map((task) => shown(task, BATCH));
    await readAll(set, { cache: cacheOf(set) });
    const [first, second] = blocksIn(set);
    writeFileSync(first!, readFileSync(second!));
    expect((await readAll(set, { cache: cacheOf(set) })).map((task) => shown(task, BATCH))).toEqual(plain);
  });
});

describe('a disk that takes nothing', () => {
  const failing = (code: string): Promise<never> => Promise.reject(Object.assign(new Error(code), { code }));

  /** That call fails below the folder of parsed tasks. */
  function failingCall(call: 'create' | 'makeFolder' | 'rename', code: string): Partial<Disk> {
    const run = createDisk()[call] as (...args: string[]) => Promise<never>;
    const isHit = (path: string | undefined): boolean => path?.includes('/parsed') === true;
    return { [call]: (...args: string[]) => (isHit(args[0]) ? failing(code) : run(...args)) };
  }

  test.each<[string, Partial<Disk>]>([
    ['full', failingCall('create', 'ENOSPC')],
    ['read-only', failingCall('makeFolder', 'EROFS')],
    ['nearly full', { freeBytes: async () => 1000 }],
    ['failing at the rename', failingCall('rename', 'EIO')],
  ])('%s turns the cache off, says so once, and fails no task', async (_, disk) => {
    const set = await made(disk);
    const cache = cacheOf(set);
    const [plain, tasks] = [await readAll(set), await readAll(set, { cache })];
    expect(tasks.map((task) => shown(task, BATCH))).toEqual(plain.map((task) => shown(task, BATCH)));
    expect(set.place.warnings).toEqual(['paddlet stops keeping parsed tasks in the data cache']);
  });

  test('blocks that cannot be read are parsed again', async () => {
    const real = createDisk();
    let isBroken = false;
    const open: Disk['open'] = (path) => (isBroken && path.endsWith('.block') ? failing('EIO') : real.open(path));
    const set = await made({ open });
    const plain = (await readAll(set, { cache: cacheOf(set) })).map((task) => shown(task, BATCH));
    isBroken = true;
    expect((await readAll(set, { cache: cacheOf(set) })).map((task) => shown(task, BATCH))).toEqual(plain);
    expect(set.place.warnings).toEqual(['parsed tasks cannot be read from the data cache']);
  });
});

describe('the bound', () => {
  const sizeOf = (set: Made): number => blocksIn(set).reduce((sum, path) => sum + statSync(path).size, 0);

  test('the blocks that were not used for the longest time go', async () => {
    const set = await made();
    await readAll(set, { cache: cacheOf(set) });
    const [old, ...newer] = blocksIn(set);
    const all = sizeOf(set);
    for (const [at, path] of newer.entries()) utimesSync(path, 1000 + at, 1000 + at);
    utimesSync(old!, 500, 500);
    appendFileSync(join(set.place.folder, 'c.txt'), textOf(0, 20));
    const index = await buildIndex(set.place, { what: 'c.txt', format: 'libsvm', recordsPerTask: RECORDS_PER_TASK });
    const other = { ...set, index, tasks: cutTasks(index, RECORDS_PER_TASK) };
    await readAll(other, { cache: cacheOf(set, all) });
    expect(blocksIn(set)).not.toContain(old);
    expect(sizeOf(set)).toBeLessThanOrEqual(all);
  });

  test('reading marks a block as used', async () => {
    const set = await made();
    await readAll(set, { cache: cacheOf(set) });
    for (const path of blocksIn(set)) utimesSync(path, 500, 500);
    await readAll({ ...set, tasks: set.tasks.slice(0, 1) }, { cache: cacheOf(set) });
    expect(blocksIn(set).filter((path) => statSync(path).mtimeMs > 500_000).length).toBe(1);
  });

  test('a block larger than the bound is not kept', async () => {
    const set = await made();
    await readAll(set, { cache: cacheOf(set, 100) });
    expect(existsSync(join(set.place.cacheFolder, 'parsed'))).toBe(false);
    expect(set.place.warnings).toEqual([]);
  });
});
