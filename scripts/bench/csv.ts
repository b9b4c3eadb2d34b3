/**
 * A click log as CSV and TSV (13 numbers, 26 categories, as Criteo's): text to columns beside reading the bytes alone,
 * the index, and the first pass over whole tasks; in processor time. Run: `npx node scripts/bench/csv.ts`, or
 * `npm run bench`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import type { Column, ColumnSpec } from '../../src/data/columns/column.ts';
import type { PieceSink } from '../../src/data/columns/piece-sink.ts';
import { planOf } from '../../src/data/formats/csv/plan.ts';
import { readText } from '../../src/data/formats/csv/text.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { createHost } from '../../src/host/host.ts';
import { timed } from './data.ts';
import { type Figure, median, printFigures } from './figure.ts';

const ROUNDS = 9;
const RECORDS = 40_000;
const NUMBERS = 13;
const CATEGORIES = 26;
const RECORDS_PER_TASK = 1000;
const BATCH = 128;
const SLICE_BYTES = 1 << 20;
const LABELS = { task: 'binary' } as const;

const COLUMNS: readonly Column[] = [
  { name: 'label', type: 'label' },
  ...Array.from(
    { length: NUMBERS },
    (_, at): Column => ({ name: `I${at + 1}`, type: 'number', normalize: 'log', missing: 'mean' }),
  ),
  ...Array.from({ length: CATEGORIES }, (_, at): Column => ({ name: `C${at + 1}`, type: 'category', ids: 'hash' })),
];

/** The same numbers each time. */
function createFractions(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function textOf(delimiter: string): Buffer {
  const fraction = createFractions();
  const lines = Array.from({ length: RECORDS }, () => {
    const numbers = Array.from({ length: NUMBERS }, () =>
      fraction() < 0.2 ? '' : String(Math.floor(1000 * fraction() ** 4)),
    );
    const categories = Array.from({ length: CATEGORIES }, () =>
      fraction() < 0.05
        ? ''
        : Math.floor(2 ** 32 * fraction() ** 3)
            .toString(16)
            .padStart(8, '0'),
    );
    return [fraction() < 0.25 ? 1 : 0, ...numbers, ...categories].join(delimiter);
  });
  return Buffer.from(`${COLUMNS.map(({ name }) => name).join(delimiter)}\n${lines.join('\n')}\n`);
}

/** Takes the columns and does nothing with them. */
const NOTHING: PieceSink = { quota: 4096, badRecords: 0, add: () => {}, bad: () => {} };

function toColumns(text: Buffer, spec: ColumnSpec): void {
  const layout = { fields: COLUMNS.length, positions: COLUMNS.map((_, at) => at) };
  const plan = planOf(spec, layout, LABELS, 'log');
  for (let at = text.indexOf('\n') + 1; at < text.length; ) {
    const end = text.lastIndexOf('\n', Math.min(text.length, at + SLICE_BYTES) - 1) + 1;
    readText({ file: 'log', bytes: text.subarray(at, end), offset: at, firstLine: 1 }, plan, NOTHING);
    at = end;
  }
}

async function measureFormat(format: 'csv' | 'tsv', folder: string): Promise<Figure[]> {
  const delimiter = format === 'csv' ? ',' : '\t';
  const text = textOf(delimiter);
  writeFileSync(join(folder, 'log'), text);
  const spec: ColumnSpec = {
    columns: COLUMNS,
    dialect: { header: true, delimiter, quote: '"', missing: [''], decimal: '.' },
  };
  const place = {
    host: createHost({ logLevel: 'warn', logFormat: 'text' }),
    folder,
    cacheFolder: join(folder, 'cache'),
  };
  const request = { what: 'log', format, recordsPerTask: RECORDS_PER_TASK, columns: spec };
  const index = await buildIndex(place, request);
  const columns = { ...spec, statistics: index.statistics ?? [], input: 'sparse' as const };
  const options = { format, files: index.files, labels: LABELS, inputWidth: 0, batchSize: BATCH, columns };
  const runs = {
    bytes: () => crc32(readFileSync(join(folder, 'log'))),
    columns: () => toColumns(text, spec),
    index: () => buildIndex(place, request),
    async tasks() {
      const reader = createTaskReader(place, options);
      for (const chunks of cutTasks(index, RECORDS_PER_TASK)) await reader.read(chunks);
      await reader.close();
    },
  };
  const times: Record<string, number[]> = {};
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const ms = await timed(run);
      if (round >= 0) times[name] = [...(times[name] ?? []), ms];
    }
  }
  const figure = (name: keyof typeof runs, amount: number): Pick<Figure, 'value' | 'bestValue' | 'limit' | 'ratio'> => {
    const [ours, bytes] = [times[name]!, times.bytes!];
    return {
      value: amount / median(ours),
      bestValue: amount / Math.min(...ours),
      limit: { what: 'read and summed', value: amount / median(bytes) },
      ratio: median(ours.map((ms, at) => bytes[at]! / ms)),
    };
  };
  const kilobytes = text.length / 1000;
  return [
    {
      what: `${format}, 13 numbers, 26 categories: text to columns`,
      unit: 'MB/s',
      ...figure('columns', kilobytes),
      aim: { of: 'value', bound: 150, best: 'high' },
    },
    { what: '  index, with statistics', unit: 'MB/s', ...figure('index', kilobytes) },
    { what: '  first pass: whole tasks', unit: 'MB/s', ...figure('tasks', kilobytes) },
    { what: '  first pass: whole tasks', unit: 'k records/s', ...figure('tasks', RECORDS) },
  ];
}

export async function measureCsv(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const format of ['csv', 'tsv'] as const) {
    const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-csv-'));
    try {
      figures.push(...(await measureFormat(format, folder)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureCsv());
