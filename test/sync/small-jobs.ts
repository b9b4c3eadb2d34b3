/** Made data and jobs in sync mode that train in no time. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { type Job, jobFileSchema, resolveJob } from '../../src/job/schema.ts';
import { settleRecords } from '../../src/job/settle-records.ts';
import type { TestPlace } from '../data/place.ts';

export const RECORDS = 230;

/** `weightOf`: of each record, by its number; without it they have none. `ids`: number of different ids. */
export function makeText(
  place: TestPlace,
  bad: readonly number[] = [],
  weightOf?: (record: number) => number,
  { seed = 11, ids: most = 40 } = {},
): void {
  const random = createRandomStream(seed);
  const lines = Array.from({ length: RECORDS }, (_, record) => {
    const ids = new Set(Array.from({ length: 5 }, () => Math.floor(most * random.uniform() ** 2)));
    const features = [...ids].sort((a, b) => a - b).map((id) => `${id}:${(2 * random.uniform() - 1).toFixed(3)}`);
    const label = random.uniform() < 0.4 ? 1 : 0;
    const weight = weightOf === undefined ? '' : `:${weightOf(record)}`;
    return bad.includes(record) ? 'no record' : `${label}${weight} ${features.join(' ')}`;
  });
  writeFileSync(join(place.folder, 'train.txt'), `${lines.join('\n')}\n`);
}

/** The same text as libffm. */
export function addFields(place: TestPlace): void {
  const path = join(place.folder, 'train.txt');
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text.replace(/ (\d+):/g, (_, id: string) => ` ${Number(id) % 6}:${id}:`),
  );
}

/** Numbers, some of them missing, categories, lists of them, and some records without a label. */
export function makeTable(place: TestPlace): void {
  const random = createRandomStream(13);
  const pick = (texts: readonly string[]): string => texts[Math.floor(texts.length * random.uniform())]!;
  const lines = Array.from({ length: RECORDS }, (_, record) =>
    [
      random.uniform() < 0.2 ? '' : random.normal().toFixed(3),
      (100 * random.uniform()).toFixed(1),
      pick(['Oslo', 'Roma', 'Lima', '']),
      pick(['', 'a', 'a|b', 'c|a|b']),
      record % 50 === 7 ? '' : pick(['1', '0', '0']),
    ].join(','),
  );
  writeFileSync(join(place.folder, 'train.csv'), `x,y,town,tags,clicked\n${lines.join('\n')}\n`);
}

export const TABLE_COLUMNS = {
  x: 'number',
  y: { type: 'number', quantiles: 4 },
  town: 'category',
  tags: 'categories',
  clicked: 'label',
  both: { cross: ['y', 'town'] },
};

/** Images of 41 × 41, so that the weights take more than one block. */
export function makeImages(place: TestPlace): void {
  const random = createRandomStream(12);
  const header = (...numbers: number[]): Uint8Array => {
    const view = new DataView(new ArrayBuffer(4 * numbers.length));
    numbers.forEach((number, i) => {
      view.setUint32(4 * i, number);
    });
    return new Uint8Array(view.buffer);
  };
  const images = Uint8Array.from({ length: 70 * 41 * 41 }, () => Math.floor(256 * random.uniform()));
  const labels = Uint8Array.from({ length: 70 }, (_, i) => i % 10);
  writeFileSync(join(place.folder, 'images'), Buffer.concat([header(0x0803, 70, 41, 41), images]));
  writeFileSync(join(place.folder, 'labels'), Buffer.concat([header(0x0801, 70), labels]));
}

export const JOB_FILE = {
  name: 'plain',
  data: { train: 'train.txt', format: 'libsvm', recordsPerTask: 37, maxBadRecords: 100 },
  model: { type: 'lr' },
  training: { mode: 'sync', passes: 2, batchSize: 8, lanes: 3, seed: 5 },
  tasks: { maxDiscarded: 0 },
};

export const jobOf = (more: Record<string, unknown>, training: Record<string, unknown> = {}): Job =>
  settleRecords(
    resolveJob(jobFileSchema.parse({ ...JOB_FILE, ...more, training: { ...JOB_FILE.training, ...training } })),
    JOB_FILE.data.recordsPerTask,
  );
