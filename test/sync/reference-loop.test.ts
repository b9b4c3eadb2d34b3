/** The plain loop against the parts that clusters are made of: parameter memory in shards, folding, the plan. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createModelHasher, type Digests, inNameOrder } from '../../src/checkpoint/model-digest.ts';
import { createRoundPlan } from '../../src/core/round-plan.ts';
import { loadOrBuildIndex } from '../../src/data/index-file.ts';
import { createRandomStream } from '../../src/data/random-stream.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { type Job, jobFileSchema, resolveJob } from '../../src/job/schema.ts';
import type { Batch, Model, PulledValues } from '../../src/model/model.ts';
import { createModel } from '../../src/model/registry.ts';
import { blockShards } from '../../src/tensor/blocks.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { foldLanes, type LaneGradients } from '../../src/tensor/lane-fold.ts';
import { type Parameters, SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { type TestPlace, testPlace } from '../data/place.ts';
import { bytesOf, idBytes, makeParameters } from '../tensor/fixture.ts';
import { OPTIMIZERS } from '../tensor/optimizers.ts';
import { idsOf, laneFor, type PlainLane } from '../tensor/rounds.ts';
import { referenceLoop, referenceOf } from './reference-loop.ts';

const RECORDS = 230;
const SHARDS = 6;
const EMPTY: PlainLane = { records: 0, dense: [], sparse: [] };

function makeText(place: TestPlace, bad: readonly number[] = []): void {
  const random = createRandomStream(11);
  const lines = Array.from({ length: RECORDS }, (_, record) => {
    const ids = new Set(Array.from({ length: 5 }, () => Math.floor(40 * random.uniform() ** 2)));
    const features = [...ids].sort((a, b) => a - b).map((id) => `${id}:${(2 * random.uniform() - 1).toFixed(3)}`);
    const label = random.uniform() < 0.4 ? 1 : 0;
    return bad.includes(record) ? 'no record' : `${label} ${features.join(' ')}`;
  });
  writeFileSync(join(place.folder, 'train.txt'), `${lines.join('\n')}\n`);
}

/** Images of 41 × 41, so that the weights take more than one block. */
function makeImages(place: TestPlace): void {
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

const JOB_FILE = {
  name: 'plain',
  data: { train: 'train.txt', format: 'libsvm', recordsPerTask: 37, maxBadRecords: 100 },
  model: { type: 'lr' },
  training: { mode: 'sync', passes: 2, batchSize: 8, lanes: 3, seed: 5 },
  tasks: { maxDiscarded: 0 },
};

const jobOf = (more: Record<string, unknown>, training: Record<string, unknown> = {}): Job =>
  resolveJob(jobFileSchema.parse({ ...JOB_FILE, ...more, training: { ...JOB_FILE.training, ...training } }));

interface Loaded {
  readonly model: Model;
  readonly tasks: readonly TaskRecords[];
}

async function load(job: Job, place: TestPlace): Promise<Loaded> {
  const { train, trainLabels, format, recordsPerTask } = job.data;
  const labelled = trainLabels.length === 0 ? {} : { labels: trainLabels };
  const index = await loadOrBuildIndex(place, { what: train, format, recordsPerTask, ...labelled });
  const classes = index.labelBound;
  const model = createModel(job.model, { inputWidth: index.featureBound, classes });
  const labels = model.task === 'multiclass' ? { task: model.task, classes } : { task: model.task };
  const reader = createTaskReader(place, { format, files: index.files, labels, inputWidth: index.featureBound });
  const tasks = await Promise.all(cutTasks(index, recordsPerTask).map((chunks) => reader.read(chunks)));
  await reader.close();
  return { model, tasks };
}

/** The job in parameter memories that share the shards, as pservers do. */
function trainInParts(job: Job, { model, tasks }: Loaded, pservers: number): Digests {
  const { optimizer, training } = job;
  const spec = model.parameters;
  const heldBy = (pserver: number): number[] =>
    Array.from({ length: SHARDS }, (_, shard) => shard).filter((shard) => shard % pservers === pserver);
  const parts = Array.from({ length: pservers }, (_, pserver) => {
    const held = heldBy(pserver);
    return {
      held,
      parameters: makeParameters({ spec, optimizer, seed: training.seed, shards: SHARDS, present: held }),
    };
  });
  const router = createIdRouter({ shards: SHARDS });
  const taskRecords = Uint32Array.from(tasks, ({ records }) => records);
  const plan = createRoundPlan({ ...training, taskRecords });
  for (let round = 0; round < plan.firstOf(training.passes); round++) {
    const lanes = Array.from({ length: training.lanes }, (_, lane) => {
      const place = plan.batchOf(round, lane);
      return place === undefined ? EMPTY : stepOf(model, parts, tasks[place.task]!.batch(place.from, place.to));
    });
    for (const { held, parameters } of parts) {
      const ofPart = lanes.map((lane): LaneGradients => laneFor(spec, lane, { shards: SHARDS, held }));
      const { sparse, dense } = foldLanes(spec, router, ofPart);
      const actions = new Uint8Array(SHARDS);
      for (const shard of held) actions[shard] = SHARD_ACTION.apply;
      if (sparse.length + dense.length > 0) parameters.push(sparse, dense, actions);
    }
  }
  return digestsOf(model, parts);
}

type Part = { readonly held: readonly number[]; readonly parameters: Parameters };

const holder = (parts: readonly Part[], shard: number): Parameters =>
  parts.find(({ held }) => held.includes(shard))!.parameters;

function stepOf(model: Model, parts: readonly Part[], batch: Batch): PlainLane {
  const { records } = batch.data;
  if (records === 0) return EMPTY;
  const ids = batch.kind === 'sparse' ? idsOf(batch.data.ids).slice(0, batch.data.distinct) : [];
  const values: PulledValues = {
    dense: model.parameters.dense.map((spec, parameter) => {
      const blocks = [...blockShards(spec, SHARDS)].map(
        (shard, block) => holder(parts, shard).readBlock(parameter, block).values,
      );
      return Float32Array.from(blocks.flatMap((block) => [...block]));
    }),
    sparse: model.parameters.sparse.map(({ name, width }, table) => {
      const rows = new Float32Array(ids.length * width);
      ids.forEach((id, i) => {
        const from = holder(parts, shardOfRow(name, id, SHARDS));
        from.pullSparse(table, idBytes([id]), bytesOf(rows.subarray(i * width, (i + 1) * width)));
      });
      return rows;
    }),
  };
  const { dense, sparse } = model.step(batch, values);
  return {
    records,
    dense: dense.map((gradient) => gradient.slice()),
    sparse: model.parameters.sparse.map(
      ({ width }, table) => new Map(ids.map((id, i) => [id, sparse[table]!.slice(i * width, (i + 1) * width)])),
    ),
  };
}

function digestsOf({ parameters: spec }: Model, parts: readonly Part[]): Digests {
  const hasher = createModelHasher();
  const ordered = (slots: Readonly<Record<string, Float32Array>>): Float32Array[] =>
    Object.keys(slots)
      .sort()
      .map((name) => slots[name]!);
  for (const [parameter, dense] of inNameOrder(spec.dense)) {
    hasher.beginDense(dense);
    blockShards(dense, SHARDS).forEach((shard, block) => {
      const { values, slots, step } = holder(parts, shard).readBlock(parameter, block);
      hasher.block(bytesOf(values), ordered(slots).map(bytesOf), step);
    });
  }
  for (const [table, { name, width }] of inNameOrder(spec.sparse)) {
    hasher.beginTable(spec.sparse[table]!);
    const ids = parts.flatMap(({ parameters }) => [...parameters.sortedIds(table)]).sort((a, b) => (a < b ? -1 : 1));
    for (const id of ids) {
      const rows = holder(parts, shardOfRow(name, id, SHARDS)).readRows(table, BigUint64Array.of(id));
      const state = ordered(rows.slots).map((slot) => bytesOf(slot.subarray(0, width)));
      if (rows.steps !== undefined) state.push(bytesOf(rows.steps));
      hasher.row(idBytes([id]), bytesOf(rows.values), state);
    }
  }
  return hasher.digests();
}

const digestsIn = ({ modelDigest, stateDigest }: Digests): Digests => ({ modelDigest, stateDigest });

it.each(OPTIMIZERS)('$type: lr and fm in one memory and in several', async (optimizer) => {
  const place = testPlace();
  makeText(place, [3, 40, 41, 42, 43, 44, 45, 46, 47, 100]);
  for (const model of [{ type: 'lr' }, { type: 'fm', factors: 3 }]) {
    const job = jobOf({ model, optimizer });
    const plain = await referenceLoop(job, place);
    expect(plain.applied).toBe(2 * (RECORDS - 10));
    expect(plain.passes.map(({ records }) => records)).toEqual([RECORDS - 10, RECORDS - 10]);
    const loaded = await load(job, place);
    for (const pservers of [1, 3]) expect(trainInParts(job, loaded, pservers)).toEqual(digestsIn(plain));
  }
});

it.each(OPTIMIZERS)('$type: softmax, whose weights are in two blocks', async (optimizer) => {
  const place = testPlace();
  makeImages(place);
  const data = { train: 'images', trainLabels: 'labels', format: 'idx', recordsPerTask: 16 };
  const job = jobOf({ data, model: { type: 'softmax' }, optimizer }, { passes: 1 });
  const loaded = await load(job, place);
  const plain = digestsIn(await referenceLoop(job, place));
  for (const pservers of [1, 4]) expect(trainInParts(job, loaded, pservers)).toEqual(plain);
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
