/**
 * What `predict` writes is what `evaluate` judges, for each model: the metrics of the lines, worked out here by their
 * definitions, are those that it tells.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { carriedRecord } from '../../../src/cluster/job/carried-record.ts';
import { modelOf, trainedSpecOf } from '../../../src/cluster/job/job-model.ts';
import { createStorage } from '../../../src/host/storage.ts';
import { loadDataset, trainFactsOf } from '../../../src/roles/master/dataset.ts';
import { ledgerOf, metaOf } from '../../checkpoint/fixture.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import { type TestPlace, testPlace } from '../../data/place.ts';
import { readJob } from '../../sync/read-job.ts';
import { SHARDS, trainedParts } from '../../sync/shared-shards.ts';
import { addFields, JOB_FILE, jobOf, makeImages, makeTable, makeText, TABLE_COLUMNS } from '../../sync/small-jobs.ts';
import { runCommand } from '../run-command.ts';
import { areaOf } from './area-of.ts';

/**
 * A line has the 32-bit score itself, which is within 2⁻²⁵ = 3e-8 of the probability, relatively. Loss and squares are
 * summed before that rounding.
 */
const TOLERANCE = 1e-6;

interface Data {
  readonly make: (place: TestPlace) => void;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly learningRate: number;
  /** What is scored. It has more records than the model was trained on, so that some features are unknown. */
  readonly file: string;
  /** Of each record; undefined where it has none: such a record is scored, and is no part of the metrics. */
  readonly labels: (file: Buffer) => (number | undefined)[];
}

const linesOf = (file: Buffer): string[] => String(file).trimEnd().split('\n');

function firstHalf(place: TestPlace, from: string, to: string): void {
  const lines = linesOf(readFileSync(join(place.folder, from)));
  writeFileSync(join(place.folder, to), `${lines.slice(0, lines.length / 2).join('\n')}\n`);
}

const TEXT: Data = {
  make: (place) => {
    makeText(place);
    firstHalf(place, 'train.txt', 'first.txt');
  },
  fields: { train: 'first.txt', format: 'libsvm' },
  learningRate: 0.03,
  file: 'train.txt',
  labels: (file) => linesOf(file).map(Number.parseFloat),
};

const FIELDS: Data = {
  ...TEXT,
  make: (place) => {
    makeText(place);
    addFields(place);
    firstHalf(place, 'train.txt', 'first.txt');
  },
  fields: { train: 'first.txt', format: 'libffm' },
};

const table = (columns: object): Data => ({
  make: (place) => {
    makeTable(place);
    firstHalf(place, 'train.csv', 'first.csv');
  },
  fields: { train: 'first.csv', format: 'csv', columns },
  learningRate: 0.03,
  file: 'train.csv',
  labels: (file) =>
    linesOf(file)
      .slice(1)
      .map((line) => line.split(',').at(-1)!)
      .map((label) => (label === '' ? undefined : Number(label))),
});

const IMAGES: Data = {
  make: makeImages,
  fields: { train: 'images', trainLabels: 'labels', format: 'idx' },
  // Inputs are many, and none is small: with longer steps, probabilities would be so small that losses are cut off.
  learningRate: 0.0003,
  file: 'images',
  labels: () => Array.from({ length: 70 }, (_, record) => record % 10),
};

const COLUMNS = table(TABLE_COLUMNS);
const NUMBERS = table({ x: 'number', y: { type: 'number', normalize: 'log' }, clicked: 'label' });

const LAYERS = [
  { type: 'linear', name: 'w', columns: ['town', 'both'] },
  { type: 'embedding', name: 'v', columns: ['town', 'tags'], width: 3 },
  { type: 'fm', name: 'pairs', from: 'v' },
  { type: 'numbers', name: 'inputs', columns: ['x'] },
  { type: 'concat', from: ['v', 'inputs'] },
  { type: 'dense', units: 6 },
  { type: 'layerNorm' },
  { type: 'tanh' },
  { type: 'dense', name: 'deep' },
  { type: 'add', from: ['w', 'pairs', 'deep'] },
];

/** One pass of the job, saved as its checkpoint would be; the folder of the checkpoint. */
async function trainAndSave(place: TestPlace, model: object, { fields, learningRate }: Data): Promise<string> {
  const file = { ...JOB_FILE.data, ...fields };
  const optimizer = { type: 'adam', learningRate };
  const job = jobOf({ data: file, model, optimizer, cluster: { shards: SHARDS, pservers: 1 } }, { passes: 1 });
  const { data, training } = job;
  const train = trainFactsOf(await loadDataset(place, job, data.train, data.trainLabels, 'train'));
  const record = recordOf(job, { dataDir: place.folder, train });
  const { tasks } = await readJob(job, place);
  const [part] = trainedParts(job, { model: modelOf(record), tasks }, 1);
  const trained = { jobId: record.id, parameters: trainedSpecOf(record), seed: training.seed, shards: SHARDS };
  const folder = join(place.folder, 'checkpoints');
  await writeCheckpointFile({
    ...{ storage: createStorage(place.host.disk), folder, parameters: part!.parameters, shards: part!.held },
    meta: metaOf(trained, { index: 0, job: carriedRecord(record) }),
    momentOf: (shard) => ({ shard, epoch: 1, seq: 1, ledger: ledgerOf('') }),
  });
  return folder;
}

/** Of each record, its score, or one for each class. */
function scoresOf(csv: string): number[][] {
  const [head, ...lines] = csv.trimEnd().split('\n');
  const count = head!.split(',').length;
  return lines.map((line) => {
    const scores = line.split(',');
    expect(scores).toHaveLength(count);
    return scores.map((score) => Math.fround(Number(score)));
  });
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function binaryMetrics(scores: readonly number[], labels: readonly number[]): Record<string, number> {
  const isRight = (score: number, at: number): number => (score > 0.5 === (labels[at] === 1) ? 1 : 0);
  return {
    records: scores.length,
    logloss: mean(scores.map((score, at) => -Math.log(labels[at] === 1 ? score : 1 - score))),
    auc: areaOf(
      scores,
      labels.map((label) => label === 1),
    ),
    accuracy: mean(scores.map(isRight)),
    rmse: Math.sqrt(mean(scores.map((score, at) => (score - labels[at]!) ** 2))),
    calibration: mean(scores) / mean(labels),
  };
}

const classMetrics = (scores: readonly number[][], labels: readonly number[]): Record<string, number> => ({
  records: scores.length,
  logloss: mean(scores.map((classes, at) => -Math.log(classes[labels[at]!]!))),
  accuracy: mean(scores.map((classes, at) => (classes.indexOf(Math.max(...classes)) === labels[at] ? 1 : 0))),
});

test.each([
  ['lr', { type: 'lr' }, TEXT],
  ['fm', { type: 'fm', factors: 3 }, TEXT],
  ['ffm', { type: 'ffm', factors: 2 }, FIELDS],
  ['softmax', { type: 'softmax' }, IMAGES],
  ['mlp', { type: 'mlp', task: 'binary', hidden: [5], normalization: 'batch', dropout: 0.2 }, NUMBERS],
  ['mlp of classes', { type: 'mlp', hidden: [5] }, IMAGES],
  ['wide_deep', { type: 'wide_deep', embedding: 3, hidden: [5] }, COLUMNS],
  ['deepfm', { type: 'deepfm', factors: 3, hidden: [5] }, COLUMNS],
  ['layers', { type: 'layers', task: 'binary', layers: LAYERS }, COLUMNS],
] as const)('%s', async (_name, model, made: Data) => {
  const place = testPlace();
  const { file } = made;
  made.make(place);
  const checkpoint = await trainAndSave(place, model, made);
  const paddlet = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await runCommand(words, { cwd: place.folder });
    expect([code, err]).toEqual([0, expect.any(String)]);
    return out;
  };
  const labelFile = file === 'images' ? ['--labels', 'labels'] : [];
  const told = JSON.parse(await paddlet('evaluate', checkpoint, '--data', file, ...labelFile, '--json'));
  const scores = scoresOf(await paddlet('predict', checkpoint, '--data', file));
  const labels = made.labels(readFileSync(join(place.folder, file)));
  expect(scores.length).toBe(labels.length);
  const judged = scores.flatMap((of, at) => (labels[at] === undefined ? [] : [{ scores: of, label: labels[at] }]));
  const labelsOf = judged.map(({ label }) => label);
  const isBinary = judged[0]!.scores.length === 1;
  const metrics = isBinary
    ? binaryMetrics(
        judged.map(({ scores: [score] }) => score!),
        labelsOf,
      )
    : classMetrics(
        judged.map(({ scores: classes }) => classes),
        labelsOf,
      );
  const { job, model: from, files, bad, ...its } = told;
  expect({ job, from, bad }).toEqual({ job: 'plain', from: 'checkpoints', bad: labels.length - judged.length });
  expect(Object.keys(its).sort()).toEqual(Object.keys(metrics).sort());
  for (const [name, value] of Object.entries(metrics)) {
    expect(Math.abs(its[name] / value - 1), `${name} ${its[name]}, of the lines ${value}`).toBeLessThan(TOLERANCE);
  }
  // The model has learned something, so the metrics are not those of one score for all.
  expect(new Set(judged.map(({ scores: [score] }) => score)).size).toBeGreaterThan(10);
});
