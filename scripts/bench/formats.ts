/**
 * One click log (13 numbers, 26 categories, as Criteo's) in each format, made by `data synth` and `data convert`: what
 * is read to columns, the index, and whole tasks, beside reading the bytes alone; in processor time. RecordIO is a
 * packing, so its row is how fast it is unpacked. Run:
 * `npx node scripts/bench/formats.ts [RECORDS]`, or `npm run bench -- data`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { assert } from '../../src/base/assert.ts';
import { contentBlocks, openContent } from '../../src/data/bytes/content.ts';
import { ForwardBytes } from '../../src/data/bytes/forward.ts';
import { packLines } from '../../src/data/bytes/packings/recordio/pack.ts';
import type { ColumnSpec } from '../../src/data/columns/column.ts';
import type { ColumnPiece } from '../../src/data/columns/piece.ts';
import { convertFile } from '../../src/data/convert.ts';
import { type DataFormat, formatOf } from '../../src/data/formats/registry.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import { SparseKernel } from '../../src/data/kernels/sparse-kernel.ts';
import { ParsedCache } from '../../src/data/parsed/cache.ts';
import type { PieceSink } from '../../src/data/piece.ts';
import type { DataPlace } from '../../src/data/place.ts';
import { SYNTH_DEFAULTS, writeSynth } from '../../src/data/synth/synth.ts';
import { createTaskReader, type TaskReaderOptions } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { writeWhole } from '../../src/data/whole-file.ts';
import { createHost } from '../../src/host/host.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { columnSpecOf } from '../../src/job/schema.ts';
import { timed, tokenize } from './data.ts';
import { type Figure, median, printFigures } from './figure.ts';

const ROUNDS = 3;
const RECORDS = 1_000_000;
/** Whole tasks take longer than all else: of these, a part. */
const TASK_SHARE = 1 / 8;
const NUMBERS = 13;
const CATEGORIES = 26;
const VALUES = 10_000;
const RECORDS_PER_TASK = 8192;
const BATCH = 1024;
const LABELS = { task: 'binary' } as const;

/** As `data recordio pack` writes them. */
const CHUNK = { compressor: 'snappy', chunkBytes: 1 << 20, chunkRecords: 100_000 } as const;
const FORMATS = ['csv', 'tsv', 'interactions', 'jsonl', 'columns', 'libsvm'] as const;

/** Takes the columns and does nothing with them. */
const NOTHING: PieceSink<ColumnPiece> = { quota: 4096, badRecords: 0, add: () => {}, bad: () => {} };

interface Log {
  readonly records: number;
  readonly format: DataFormat;
  readonly file: string;
  readonly columns: ColumnSpec | undefined;
}

/** Writes the log; its columns. */
async function makeLog(place: DataPlace, records: number, format: 'csv' | 'tsv' | 'jsonl' | 'libsvm'): Promise<Log> {
  const perRecord = NUMBERS + CATEGORIES;
  await writeSynth(place.host, place.folder, {
    ...SYNTH_DEFAULTS,
    ...{ records, testRecords: 1, features: perRecord * VALUES, perRecord, factors: 0, format },
    numbers: format === 'libsvm' ? 0 : NUMBERS,
  });
  const file = `train.${format}`;
  if (format === 'libsvm') return { records, format, file, columns: undefined };
  const job = parseJobFile('job.yaml', readFileSync(join(place.folder, 'job.yaml'), 'utf8'));
  return { records, format, file, columns: columnSpecOf(job)! };
}

/** The lines of TSV, which are those of interactions with a header. */
const asInteractions = (tsv: Log): Log => {
  const { columns, dialect } = tsv.columns!;
  return { ...tsv, format: 'interactions', columns: { columns, dialect: { ...dialect, quote: null } } };
};

async function measureRecordio(place: DataPlace, { format, file, records }: Log): Promise<Figure> {
  const name = 'train.recordio';
  const path = join(place.folder, name);
  const text = new ForwardBytes(contentBlocks(place, file));
  await writeWhole(place.host, path, (append) => packLines(text, { path: file, ...CHUNK }, append));
  const unpack = async (): Promise<void> => {
    let bytes = 0;
    for await (const block of contentBlocks(place, name)) bytes += block.length;
    assert(bytes > 0, 'there are records');
  };
  const [ours, bytes]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await timed(unpack));
    bytes.push(await timed(() => crc32(readFileSync(path))));
  }
  return {
    what: `recordio of ${format} by snappy: unpacked`,
    unit: 'k records/s',
    value: records / median(ours),
    bestValue: records / Math.min(...ours),
    limit: { what: 'read and summed', value: records / median(bytes) },
    ratio: median(ours.map((ms, at) => bytes[at]! / ms)),
  };
}

async function toColumns(place: DataPlace, { format, file, columns }: Log): Promise<void> {
  if (columns === undefined) {
    tokenize(new SparseKernel(), readFileSync(join(place.folder, file)));
    return;
  }
  const content = await openContent(place, file);
  await formatOf(format).readFile!(content, { columns, labels: LABELS, onBytes: () => {} }, NOTHING);
  await content.file.close();
}

async function measureLog(place: DataPlace, log: Log): Promise<Figure[]> {
  const { format, file, columns: spec, records } = log;
  const request = { what: file, format, recordsPerTask: RECORDS_PER_TASK, columns: spec };
  const index = await buildIndex(place, request);
  const columns = spec && { ...spec, statistics: index.statistics ?? [], input: 'sparse' as const };
  const options: TaskReaderOptions = {
    ...{ format, files: index.files, labels: LABELS, inputWidth: 0, batchSize: BATCH, columns },
  };
  const tasks = cutTasks(index, RECORDS_PER_TASK);
  const part = tasks.slice(0, Math.ceil(TASK_SHARE * tasks.length));
  const cache = { bytes: 2 ** 36 };
  const readTasks = async (kept?: ParsedCache): Promise<void> => {
    const reader = createTaskReader(place, { ...options, ...(kept && { cache: kept }) });
    for (const chunks of part) {
      const { release } = await reader.read(chunks);
      release?.();
    }
    await reader.close();
  };
  await readTasks(new ParsedCache(place, cache));
  const runs = {
    bytes: () => crc32(readFileSync(join(place.folder, file))),
    columns: () => toColumns(place, log),
    index: () => buildIndex(place, request),
    first: () => readTasks(),
    // A cache of its own has nothing in memory.
    later: () => readTasks(new ParsedCache(place, cache)),
  };
  const times: Record<string, number[]> = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) times[name] = [...(times[name] ?? []), await timed(run)];
  }
  const megabytes = readFileSync(join(place.folder, file)).length / 1000;
  const figure = (name: keyof typeof runs, amount: number, unit: string, share = 1) => {
    const [ours, bytes] = [times[name]!, times.bytes!];
    return {
      unit,
      value: (share * amount) / median(ours),
      bestValue: (share * amount) / Math.min(...ours),
      limit: { what: 'read and summed', value: amount / median(bytes) },
      ratio: median(ours.map((ms, at) => (share * bytes[at]!) / ms)),
    };
  };
  const share = part.length / tasks.length;
  return [
    {
      what: `${format}, ${NUMBERS} numbers, ${CATEGORIES} categories: to columns`,
      ...figure('columns', megabytes, 'MB/s'),
      ...(AIMS[format] === undefined ? {} : { aim: { of: 'value', bound: AIMS[format], best: 'high' } }),
    },
    { what: `  ${format}: to columns`, ...figure('columns', records, 'k records/s') },
    { what: `  ${format}: index`, ...figure('index', records, 'k records/s') },
    { what: `  ${format}: whole tasks, the first time`, ...figure('first', records, 'k records/s', share) },
    { what: `  ${format}: whole tasks, from the cache`, ...figure('later', records, 'k records/s', share) },
  ];
}

const AIMS: Readonly<Record<string, number>> = { csv: 150, tsv: 150, libsvm: 200 };
/** Records a second of a columns file, in those of the same CSV. */
const COLUMNS_AIM = 5;

export async function measureFormats(records = RECORDS): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-formats-'));
  const host = createHost({ logLevel: 'warn', logFormat: 'text' });
  const place = { host, folder, cacheFolder: join(folder, 'cache') };
  const figures: Figure[] = [];
  const toColumnsRate = new Map<DataFormat, number>();
  try {
    let csv: Log | undefined;
    let tsv: Log | undefined;
    for (const format of FORMATS) {
      let log: Log;
      if (format === 'columns') {
        const target = join(folder, 'train.columns');
        await convertFile(place, csv!.file, target, { format: 'csv', columns: csv!.columns!, onBytes: () => {} });
        log = { ...csv!, format, file: 'train.columns' };
      } else if (format === 'interactions') log = asInteractions(tsv!);
      else log = await makeLog(place, records, format);
      if (format === 'csv') csv = log;
      if (format === 'tsv') tsv = log;
      const own = await measureLog(place, log);
      toColumnsRate.set(format, own[1]!.value);
      figures.push(...own);
      if (format === 'csv') figures.push(await measureRecordio(place, log));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const [columns, text] = [toColumnsRate.get('columns')!, toColumnsRate.get('csv')!];
  figures.push({
    what: 'columns beside csv: records to columns',
    unit: 'k records/s',
    value: columns,
    limit: { what: 'csv', value: text },
    ratio: columns / text,
    aim: { of: 'ratio', bound: COLUMNS_AIM, best: 'high' },
  });
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printFigures(await measureFormats(process.argv[2] === undefined ? RECORDS : Number(process.argv[2])));
}
