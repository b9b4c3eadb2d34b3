/** The plain loop against the parts that clusters are made of: parameter memory in shards, folding, the plan. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Digests } from '../../src/checkpoint/set/model-digest.ts';
import type { Job } from '../../src/job/schema.ts';
import { createModel } from '../../src/model/registry.ts';
import { testPlace } from '../data/place.ts';
import { OPTIMIZERS } from '../tensor/optimizers.ts';
import { type Loaded, readJob } from './read-job.ts';
import { referenceLoop, referenceOf } from './reference-loop.ts';
import { digestsOf, trainedParts } from './shared-shards.ts';
import { addFields, JOB_FILE, jobOf, makeImages, makeTable, makeText, RECORDS, TABLE_COLUMNS } from './small-jobs.ts';

const trainInParts = (job: Job, loaded: Pick<Loaded, 'model' | 'tasks'>, pservers: number): Digests =>
  digestsOf(job, loaded.model, trainedParts(job, loaded, pservers));

const [SGD, , , ADAGRAD, ADAM, , FTRL] = OPTIMIZERS;

const digestsIn = ({ modelDigest, stateDigest }: Digests): Digests => ({ modelDigest, stateDigest });

it.each(OPTIMIZERS)('$type: lr and fm in one memory and in several', async (optimizer) => {
  const place = testPlace();
  makeText(place, [3, 40, 41, 42, 43, 44, 45, 46, 47, 100]);
  for (const model of [{ type: 'lr' }, { type: 'fm', factors: 3 }]) {
    const job = jobOf({ model, optimizer });
    const plain = await referenceLoop(job, place);
    expect(plain.applied).toBe(2 * (RECORDS - 10));
    expect(plain.passes.map(({ records }) => records)).toEqual([RECORDS - 10, RECORDS - 10]);
    const loaded = await readJob(job, place);
    for (const pservers of [1, 3]) expect(trainInParts(job, loaded, pservers)).toEqual(digestsIn(plain));
  }
});

it('ffm on libffm text', async () => {
  const place = testPlace();
  makeText(place, [3, 40]);
  addFields(place);
  const job = jobOf({ model: { type: 'ffm', factors: 3 }, data: { ...JOB_FILE.data, format: 'libffm' } });
  const plain = await referenceLoop(job, place);
  expect(plain.applied).toBe(2 * (RECORDS - 2));
  const loaded = await readJob(job, place);
  expect(loaded.model.parameters.sparse[1]!.width).toBe(6 * 3);
  // As trainers compute it.
  const model = createModel(job.model, loaded.facts);
  for (const one of [loaded, { ...loaded, model }]) expect(trainInParts(job, one, 3)).toEqual(digestsIn(plain));
});

it('an optimizer of its own for each table and for the bias', async () => {
  const place = testPlace();
  makeText(place);
  const digests = new Set<string>();
  for (const [w, v, bias] of [
    [FTRL, ADAGRAD, SGD],
    [ADAGRAD, FTRL, SGD],
    [ADAGRAD, FTRL, ADAM],
  ]) {
    const tables = { w: { optimizer: w }, v: { optimizer: v } };
    const job = jobOf({
      model: { type: 'fm', factors: 5 },
      optimizer: SGD,
      tables,
      blocks: { bias: { optimizer: bias } },
    });
    const plain = digestsIn(await referenceLoop(job, place));
    const loaded = await readJob(job, place);
    for (const pservers of [1, 3]) expect(trainInParts(job, loaded, pservers)).toEqual(plain);
    digests.add(plain.modelDigest).add(plain.stateDigest);
  }
  expect(digests.size).toBe(6);
});

it('clipped gradients: the same wherever they are trained, also of records that are out of range', async () => {
  const place = testPlace();
  makeText(place);
  const path = join(place.folder, 'train.txt');
  // Their products are infinite: so is the loss of the factorization machine, or it is NaN.
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/^(. 1):\S+/gm, '$1:3e38'));
  const digests = new Set<string>();
  for (const maxGradientNorm of [0.01, 0.05, 1e6]) {
    const clip = { onBadGradient: 'clip', maxGradientNorm };
    const job = jobOf({ model: { type: 'fm', factors: 3 } }, clip);
    const { passes, ...plain } = await referenceLoop(job, place);
    const loaded = await readJob(job, place);
    for (const pservers of [1, 3]) expect(trainInParts(job, loaded, pservers)).toEqual(digestsIn(plain));
    expect(plain.applied).toBe(2 * RECORDS);
    for (const { records, weight, loss } of passes) {
      expect(records).toBe(RECORDS);
      expect(weight).toBeLessThan(RECORDS);
      expect(loss).toBeLessThan(Number.POSITIVE_INFINITY);
    }
    digests.add(plain.modelDigest);
  }
  expect(digests.size).toBe(3);
});

const SCHEDULES = [
  { type: 'constant', warmup: { passes: 0.5 } },
  { type: 'step', everyPasses: 0.3, factor: 0.7 },
  { type: 'step', everyPasses: 1e-6, factor: 0.1 },
  { type: 'cosine', passes: 1.5, final: 0.1, warmup: { passes: 0.25, from: 0.2 } },
];

it.each(SCHEDULES)('a schedule, the same wherever it is trained: $type', async (schedule) => {
  const place = testPlace();
  makeText(place, [3, 40]);
  makeTable(place);
  const table = { train: 'train.csv', format: 'csv', recordsPerTask: 37, maxBadRecords: 100, columns: TABLE_COLUMNS };
  for (const more of [
    { model: { type: 'fm', factors: 3 }, optimizer: SGD },
    // Its running statistics keep their rate.
    { data: table, model: { type: 'deepfm', factors: 3, hidden: [6], normalization: 'batch' }, optimizer: ADAM },
  ]) {
    const job = jobOf(more, { schedule });
    const plain = digestsIn(await referenceLoop(job, place));
    expect(plain).not.toEqual(digestsIn(await referenceLoop(jobOf(more), place)));
    const loaded = await readJob(job, place);
    for (const pservers of [1, 3]) expect(trainInParts(job, loaded, pservers)).toEqual(plain);
  }
});

it('weights of records: other models, the same wherever they are trained; those of 1 are none', async () => {
  const place = testPlace();
  const job = jobOf({ model: { type: 'fm', factors: 3 }, data: { ...JOB_FILE.data, labelWeights: true } });
  const plainOf = async (weightOf?: (record: number) => number): Promise<Digests> => {
    makeText(place, [3], weightOf);
    const plain = digestsIn(await referenceLoop(job, place));
    const loaded = await readJob(job, place);
    for (const pservers of [1, 3]) expect(trainInParts(job, loaded, pservers)).toEqual(plain);
    return plain;
  };
  const weighted = await plainOf((record) => (record % 5) / 2);
  const ones = await plainOf(() => 1);
  expect(weighted.modelDigest).not.toBe(ones.modelDigest);
  expect(await plainOf()).toEqual(ones);
});

it('gradients that are clipped where a bad one fails', async () => {
  const place = testPlace();
  makeText(place);
  const digestOf = async (training: Record<string, unknown>): Promise<string> => {
    const job = jobOf({ model: { type: 'fm', factors: 3 } }, training);
    const plain = digestsIn(await referenceLoop(job, place));
    expect(trainInParts(job, await readJob(job, place), 3)).toEqual(plain);
    return plain.modelDigest;
  };
  const clipped = await digestOf({ maxGradientNorm: 0.01 });
  expect(await digestOf({ maxGradientNorm: 0.01, onBadGradient: 'clip' })).toBe(clipped);
  expect(await digestOf({})).not.toBe(clipped);
});

it('classes with weights: as if their records had them, without weights of their own and with them', async () => {
  const place = testPlace();
  const fm = { model: { type: 'fm', factors: 3 }, data: { ...JOB_FILE.data, labelWeights: true } };
  const labelsOf = (): number[] =>
    readFileSync(join(place.folder, 'train.txt'), 'utf8').split('\n').map(Number.parseFloat);
  for (const own of [() => 1, (record: number) => (record % 5) / 2]) {
    makeText(place, [3], own);
    const labels = labelsOf();
    const weighted = jobOf(fm, { classWeights: { 1: 3 } });
    const plain = await referenceLoop(weighted, place);
    const loaded = await readJob(weighted, place);
    for (const pservers of [1, 3]) expect(trainInParts(weighted, loaded, pservers)).toEqual(digestsIn(plain));
    const unweighted = await referenceLoop(jobOf(fm), place);
    makeText(place, [3], (record) => own(record) * (labels[record] === 1 ? 3 : 1));
    expect(await referenceLoop(jobOf(fm), place)).toEqual(plain);
    expect(unweighted.modelDigest).not.toBe(plain.modelDigest);
    expect(unweighted.applied).toBe(plain.applied);
  }
});

it('a class of images with a weight', async () => {
  const place = testPlace();
  makeImages(place);
  const data = { train: 'images', trainLabels: 'labels', format: 'idx', recordsPerTask: 16 };
  const job = jobOf({ data, model: { type: 'softmax' }, optimizer: SGD }, { classWeights: { 3: 0.5, 9: 4 } });
  const plain = await referenceLoop(job, place);
  expect(trainInParts(job, await readJob(job, place), 4)).toEqual(digestsIn(plain));
  // Of 70 records, seven of each class.
  expect(plain.passes.map(({ records, weight }) => [records, weight])).toEqual(Array(2).fill([70, 70 - 3.5 + 21]));
});

it.each(OPTIMIZERS)('$type: softmax, whose weights are in two blocks', async (optimizer) => {
  const place = testPlace();
  makeImages(place);
  const data = { train: 'images', trainLabels: 'labels', format: 'idx', recordsPerTask: 16 };
  const job = jobOf({ data, model: { type: 'softmax' }, optimizer }, { passes: 1 });
  const loaded = await readJob(job, place);
  expect(trainInParts(job, loaded, 4)).toEqual(digestsIn(await referenceLoop(job, place)));
});

it.each(['layer', 'batch'] as const)('mlp with dropout and %s normalization', async (normalization) => {
  const place = testPlace();
  makeImages(place);
  const data = { train: 'images', trainLabels: 'labels', format: 'idx', recordsPerTask: 16 };
  const model = { type: 'mlp', hidden: [12, 5], normalization, dropout: 0.25 };
  const job = jobOf({ data, model, optimizer: ADAM });
  const plain = digestsIn(await referenceLoop(job, place));
  const loaded = await readJob(job, place);
  // As trainers compute it.
  const kernels = createModel(job.model, loaded.facts);
  for (const one of [loaded, { ...loaded, model: kernels }]) expect(trainInParts(job, one, 3)).toEqual(plain);
});

it.each([
  ['deepfm', { factors: 3, hidden: [6], dropout: 0.2, normalization: 'batch' }],
  ['wide_deep', { embedding: 2, hidden: [5], columns: { wide: ['town', 'both'], deep: ['x', 'tags', 'y'] } }],
] as const)('%s: tables of different columns, and numbers', async (type, model) => {
  const place = testPlace();
  makeTable(place);
  const data = { train: 'train.csv', format: 'csv', recordsPerTask: 37, maxBadRecords: 100, columns: TABLE_COLUMNS };
  const job = jobOf({ data, model: { type, ...model }, tables: { w: { optimizer: FTRL } } });
  const plain = digestsIn(await referenceLoop(job, place));
  const loaded = await readJob(job, place);
  // As trainers compute it.
  const kernels = createModel(job.model, loaded.facts);
  for (const one of [loaded, { ...loaded, model: kernels }]) expect(trainInParts(job, one, 3)).toEqual(plain);
});

it('is known of a job file and a folder, which stays as it is', async () => {
  const place = testPlace();
  makeText(place);
  const before = readdirSync(place.folder);
  expect(await referenceOf(JOB_FILE, place.folder)).toEqual(
    await referenceLoop(jobOf({}), testPlace({ folder: place.folder })),
  );
  expect(readdirSync(place.folder)).toEqual(before);
});

it('another seed, number of lanes or record is another model', async () => {
  const place = testPlace();
  makeText(place);
  const digests = [
    await referenceLoop(jobOf({}), place),
    await referenceLoop(jobOf({}, { seed: 6 }), place),
    await referenceLoop(jobOf({}, { lanes: 4 }), place),
  ];
  makeText(place, [17]);
  digests.push(await referenceLoop(jobOf({}), place));
  expect(new Set(digests.map(({ modelDigest }) => modelDigest)).size).toBe(4);
  expect(new Set(digests.map(({ stateDigest }) => stateDigest)).size).toBe(4);
});
