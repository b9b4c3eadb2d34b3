/** Made data and jobs in sync mode that train in no time. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadOrBuildIndex } from '../../src/data/index-file.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { type Job, jobFileSchema, resolveJob } from '../../src/job/schema.ts';
import type { Model } from '../../src/model/model.ts';
import type { TestPlace } from '../data/place.ts';
import { referenceModel } from '../model/reference.ts';

export const RECORDS = 230;

/** `weightOf`: of each record, by its number; without it they have none. */
export function makeText(place: TestPlace, bad: readonly number[] = [], weightOf?: (record: number) => number): void {
  const random = createRandomStream(11);
  const lines = Array.from({ length: RECORDS }, (_, record) => {
    const ids = new Set(Array.from({ length: 5 }, () => Math.floor(40 * random.uniform() ** 2)));
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
  resolveJob(jobFileSchema.parse({ ...JOB_FILE, ...more, training: { ...JOB_FILE.training, ...training } }));

export interface Loaded {
  readonly model: Model;
  readonly tasks: readonly TaskRecords[];
}

export async function load(job: Job, place: TestPlace): Promise<Loaded> {
  const { train, trainLabels, format, recordsPerTask, labelWeights } = job.data;
  const labelled = trainLabels.length === 0 ? {} : { labels: trainLabels };
  const index = await loadOrBuildIndex(place, { what: train, format, recordsPerTask, ...labelled });
  const classes = index.labelBound;
  const model = referenceModel(job.model, {
    inputWidth: Number(index.featureBound),
    classes,
    fields: index.fieldBound,
    seed: job.training.seed,
  });
  const weights = { mayHaveWeight: labelWeights };
  const labels =
    model.task === 'multiclass' ? { task: model.task, classes, ...weights } : { task: model.task, ...weights };
  const { batchSize } = job.training;
  const options = {
    format,
    files: index.files,
    labels,
    inputWidth: Number(index.featureBound),
    batchSize,
    readsFields: model.readsFields,
  };
  const reader = createTaskReader(place, options);
  const tasks = await Promise.all(cutTasks(index, recordsPerTask).map((chunks) => reader.read(chunks)));
  await reader.close();
  return { model, tasks };
}
