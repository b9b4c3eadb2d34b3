/**
 * Text to mini-batches: the first parse beside the plain parser and beside reading the bytes alone, and tasks from the
 * data cache beside reading their files; all in processor time. Run: `npx node scripts/bench/data.ts`, or
 * `npm run bench`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { sparseReading, sparseRecords } from '../../src/data/formats/libsvm/format.ts';
import { readText } from '../../src/data/formats/text/read-text.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import { READ } from '../../src/data/kernels/exports.ts';
import { SparseKernel } from '../../src/data/kernels/sparse-kernel.ts';
import { ParsedCache } from '../../src/data/parsed/cache.ts';
import type { DataPlace } from '../../src/data/place.ts';
import type { Chunk, DataIndex } from '../../src/data/source.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { createHost } from '../../src/host/host.ts';
import { type Figure, median, printFigures } from './figure.ts';

const ROUNDS = 9;
/** The default of a job, where a task is small and what it costs by itself counts most. */
const RECORDS_PER_TASK = 1000;
const BATCH = 128;
const SLICE_BYTES = 1 << 20;
const LABELS = { task: 'binary' } as const;

interface Shape {
  readonly what: string;
  readonly records: number;
  readonly fields: number;
  readonly idsPerField: number;
  readonly valueText: (fraction: number) => string;
  /** Wanted speed of the tokenizer alone. */
  readonly aimMbPerSecond: number;
}

const SHAPES: readonly Shape[] = [
  {
    what: '14 fields of 124 ids',
    records: 100_000,
    fields: 14,
    idsPerField: 9,
    valueText: () => '1',
    aimMbPerSecond: 200,
  },
  {
    what: '39 fields of 1 M ids',
    records: 40_000,
    fields: 39,
    idsPerField: 25_641,
    valueText: () => '1',
    aimMbPerSecond: 200,
  },
  {
    what: '39 floats',
    records: 40_000,
    fields: 39,
    idsPerField: 1,
    valueText: (fraction) => fraction.toFixed(6),
    aimMbPerSecond: 200,
  },
];

/** The same numbers each time. */
function createFractions(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function textOf({ records, fields, idsPerField, valueText }: Shape): Buffer {
  const fraction = createFractions();
  const lines = Array.from({ length: records }, () => {
    const features = Array.from({ length: fields }, (_, field) => {
      const id = 1 + field * idsPerField + Math.floor(fraction() * idsPerField);
      return `${id}:${valueText(fraction())}`;
    });
    return `${fraction() < 0.5 ? '+1' : '-1'} ${features.join(' ')}\n`;
  });
  return Buffer.from(lines.join(''));
}

interface Bench {
  readonly place: DataPlace;
  readonly index: DataIndex;
  readonly tasks: readonly Chunk[][];
  readonly text: Buffer;
}

async function prepare(folder: string, shape: Shape): Promise<Bench> {
  const text = textOf(shape);
  writeFileSync(join(folder, 'data.txt'), text);
  const host = createHost({ logLevel: 'warn', logFormat: 'text' });
  const place = { host, folder, cacheFolder: join(folder, 'cache') };
  const index = await buildIndex(place, { what: 'data.txt', format: 'libsvm', recordsPerTask: RECORDS_PER_TASK });
  return { place, index, tasks: cutTasks(index, RECORDS_PER_TASK), text };
}

/** Milliseconds of processor time, in all threads of this process: other work on the machine does not count. */
export async function timed(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

export function tokenize(kernel: SparseKernel, text: Buffer): void {
  for (let at = 0; at < text.length; ) {
    const end = text.lastIndexOf('\n', Math.min(text.length, at + SLICE_BYTES) - 1) + 1;
    kernel.begin(text.subarray(at, end), { labels: LABELS, hasFields: false });
    while (kernel.next(BATCH).status !== READ.done);
    at = end;
  }
}

function parsePlainly({ records }: Shape, text: Buffer): void {
  const into = sparseRecords({ records, bytes: text.length, batchSize: BATCH }, false);
  into.startPart('data.txt');
  const reading = { ...sparseReading(LABELS, false), kernel: () => undefined };
  readText({ file: 'data.txt', bytes: text, offset: 0, firstLine: 1 }, reading, into);
  into.finish();
}

/** All tasks, each by a reader of its own, with all their batches. */
async function readTasks({ place, index, tasks }: Bench, cache?: ParsedCache): Promise<void> {
  const options = { format: 'libsvm', files: index.files, labels: LABELS, inputWidth: 0, batchSize: BATCH } as const;
  for (const chunks of tasks) {
    const reader = createTaskReader(place, cache === undefined ? options : { ...options, cache });
    const task = await reader.read(chunks);
    for (let from = 0; from < task.records; from += BATCH) task.batch(from, Math.min(from + BATCH, task.records));
    await reader.close();
  }
}

function readFiles(folder: string): void {
  for (const name of readdirSync(folder)) readFileSync(join(folder, name));
}

async function measureShape(shape: Shape, bench: Bench): Promise<Figure[]> {
  const { place, text } = bench;
  const cache = new ParsedCache(place, { bytes: 2 ** 34 });
  const kernel = new SparseKernel();
  const runs = {
    bytes: () => crc32(readFileSync(join(place.folder, 'data.txt'))),
    kernel: () => tokenize(kernel, text),
    plain: () => parsePlainly(shape, text),
    first: () => readTasks(bench),
    later: () => readTasks(bench, new ParsedCache(place, { bytes: 2 ** 34 })),
    memory: () => readTasks(bench, cache),
    files: () => readFiles(cache.folder),
  };
  await readTasks(bench, cache);
  const times: Record<string, number[]> = {};
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const ms = await timed(run);
      if (round >= 0) times[name] = [...(times[name] ?? []), ms];
    }
  }
  const compared = (name: keyof typeof runs, other: keyof typeof runs, amount: number, what: string) => {
    const [ours, theirs] = [times[name]!, times[other]!];
    return {
      value: amount / median(ours),
      bestValue: amount / Math.min(...ours),
      limit: { what, value: amount / median(theirs) },
      ratio: median(ours.map((ms, i) => theirs[i]! / ms)),
    };
  };
  const kilobytes = text.length / 1000;
  // Records per millisecond are thousands of records per second.
  const thousands = shape.records;
  const { what } = shape;
  return [
    {
      what: `${what}: text to records`,
      unit: 'MB/s',
      ...compared('kernel', 'bytes', kilobytes, 'read and summed'),
      aim: { of: 'value', bound: shape.aimMbPerSecond, best: 'high' },
    },
    { what: '  first pass: whole tasks', unit: 'MB/s', ...compared('first', 'plain', kilobytes, 'plain parser') },
    { what: '  later passes, from files', unit: 'k records/s', ...compared('later', 'files', thousands, 'files read') },
    { what: '  later passes, in memory', unit: 'k records/s', ...compared('memory', 'files', thousands, 'files read') },
  ];
}

export async function measureData(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const shape of SHAPES) {
    const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-data-'));
    try {
      figures.push(...(await measureShape(shape, await prepare(folder, shape))));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureData());
