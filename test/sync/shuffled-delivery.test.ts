/**
 * The same job with its messages in any order: lanes arrive at each pserver in an order of its own, some again and
 * again, some rounds later; batches and metrics are applied once, and the digests are those of the plain loop
 * (docs/modes.md).
 */
import { expect, it } from 'vitest';
import { lookRulesOf } from '../../src/cluster/job/look-rules.ts';
import { roundShares } from '../../src/core/round-shares.ts';
import { createRoundPlan, type LaneBatch } from '../../src/core/rounds/plan.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createRandomStream, type RandomStream } from '../../src/data/synth/random-stream.ts';
import type { Job } from '../../src/job/schema.ts';
import type { Model, PulledValues } from '../../src/model/model.ts';
import { blockLength, blockShards } from '../../src/tensor/blocks.ts';
import { type OptimizerSpec, trainedSpec } from '../../src/tensor/optimizer.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { testPlace } from '../data/place.ts';
import { RoundsRig } from '../roles/pserver/modes/rounds/rounds-rig.ts';
import { OPTIMIZERS } from '../tensor/optimizers.ts';
import { laneFor } from '../tensor/rounds.ts';
import type { LimitCounts } from './limited-tables.ts';
import { readJob } from './read-job.ts';
import { type ReferenceResult, referenceLoop, trainPlainly } from './reference-loop.ts';
import {
  computeLane,
  digestsOf,
  EMPTY,
  idsIn,
  type LaneResult,
  makeParts,
  type Part,
  SHARDS,
} from './shared-shards.ts';
import { JOB_FILE, jobOf, makeImages, makeTable, makeText, RECORDS, TABLE_COLUMNS } from './small-jobs.ts';

interface Pserver extends Part {
  readonly rig: RoundsRig;
}

/** Pulls of every pserver, put together. */
async function pullAll(
  { parameters: spec }: Model,
  pservers: readonly Pserver[],
  version: number,
  ids: readonly (readonly bigint[])[],
): Promise<PulledValues> {
  const dense = spec.dense.map(({ shape }) => new Float32Array(shape.reduce((product, size) => product * size, 1)));
  const sparse = spec.sparse.map(({ width }, table) => new Float32Array(ids[table]!.length * width));
  for (const { rig, held } of pservers) {
    const blocks = spec.dense.map((one) => [...blockShards(one, SHARDS).entries()].filter(([, s]) => held.includes(s)));
    const rows = spec.sparse.map(({ name }, table) =>
      [...ids[table]!.keys()].filter((i) => held.includes(shardOfRow(name, ids[table]![i]!, SHARDS))),
    );
    const answer = await rig.pull(version, {
      blocks: blocks.map((some) => some.map(([block]) => block)),
      ids: rows.map((some, table) => some.map((i) => ids[table]![i]!)),
    });
    blocks.forEach((some, parameter) => {
      let at = 0;
      for (const [block] of some) {
        const length = blockLength(spec.dense[parameter]!, block);
        dense[parameter]!.set(answer[parameter]!.subarray(at, at + length), block * 16_384);
        at += length;
      }
    });
    rows.forEach((some, table) => {
      const { width } = spec.sparse[table]!;
      const values = answer[spec.dense.length + table]!;
      some.forEach((i, at) => {
        sparse[table]!.set(values.subarray(at * width, (at + 1) * width), i * width);
      });
    });
  }
  return { dense, sparse };
}

interface Message {
  readonly round: number;
  readonly lane: number;
  readonly place: LaneBatch | undefined;
  readonly good: number;
  readonly result: LaneResult;
}

function shuffle<T>(items: readonly T[], random: RandomStream): T[] {
  return items
    .map((item) => ({ item, at: random.uniform() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function deliver(model: Model, { rig, held }: Pserver, { round, lane, place, good, result }: Message): string {
  const batch = place && { pass: place.pass, task: place.task, push: place.push, last: place.last, good };
  const header = { round, lane, metrics: result.metrics, ...(batch === undefined ? {} : { batch }) };
  return rig.push(header, laneFor(model.parameters, result, { shards: SHARDS, held }));
}

interface Delivered {
  readonly job: Job;
  readonly model: Model;
  readonly tasksOf: (pass: number) => readonly TaskRecords[];
}

/** Delivers the messages of a whole job to three pservers, and compares them with the plain loop. */
async function deliverAll({ job, model, tasksOf }: Delivered, wanted: ReferenceResult): Promise<void> {
  const { lanes, passes, schedule } = job.training;
  const taskRecords = Uint32Array.from(tasksOf(0), ({ records }) => records);
  const plan = createRoundPlan({ ...job.training, taskRecords });
  const random = createRandomStream(wanted.applied);
  const spec = trainedSpec(model.parameters, job);
  const pservers = makeParts(job, model, 3).map(({ held, parameters }): Pserver => {
    const options = {
      ...{ spec: model.parameters, parameters, held, shards: SHARDS, lanes, tasks: taskRecords.length },
      trained: { spec, looks: lookRulesOf(job, spec) },
    };
    return { held, parameters, rig: new RoundsRig({ ...options, rateShareOf: roundShares(schedule, plan, passes) }) };
  });
  const sent: Message[] = [];
  for (let round = 0; round < plan.firstOf(passes); round++) {
    const fresh: Message[] = [];
    for (let lane = 0; lane < lanes; lane++) {
      const at = plan.batchOf(round, lane);
      const records = at && tasksOf(at.pass)[at.task]!;
      const batch = at && records!.batch(at.from, at.to);
      const result =
        batch === undefined
          ? EMPTY
          : computeLane(model, batch, await pullAll(model, pservers, round, idsIn(model, batch)), at!, job.training);
      fresh.push({ round, lane, place: at, good: records?.goodBefore(at!.to) ?? 0, result });
    }
    sent.push(...fresh);
    for (const pserver of pservers) {
      const old = Array.from({ length: 3 }, () => sent[Math.floor(sent.length * random.uniform())]!);
      for (const message of shuffle([...fresh, ...old, fresh[0]!], random)) deliver(model, pserver, message);
      expect(pserver.rig.rounds.gates.version()).toBe(round + 1);
    }
  }
  const { modelDigest, stateDigest } = wanted;
  expect(digestsOf(job, model, pservers)).toEqual({ modelDigest, stateDigest });
  for (const { rig } of pservers) {
    expect(rig.ledger.account()).toMatchObject({ applied: wanted.applied });
    const ofPasses = rig.rounds.metrics().filter(({ version }) => version === undefined);
    expect(ofPasses).toEqual(wanted.passes.map((sums, pass) => ({ pass, ...sums })));
    const { received, duplicate } = rig.rounds.observed();
    expect(received - duplicate).toBe(wanted.applied);
    expect(rig.failures).toEqual([]);
  }
}

const JOBS = [
  ...OPTIMIZERS.map((optimizer) => ({ model: { type: 'fm', factors: 3 }, optimizer })),
  { model: { type: 'lr' }, optimizer: OPTIMIZERS[3]!, data: { ...JOB_FILE.data, labelWeights: true } },
  {
    model: { type: 'fm', factors: 3 },
    optimizer: OPTIMIZERS[3]!,
    tables: { w: { optimizer: OPTIMIZERS[6]! } },
    blocks: { bias: { optimizer: OPTIMIZERS[4]! } },
  },
  {
    data: { train: 'images', trainLabels: 'labels', format: 'idx', recordsPerTask: 16 },
    model: { type: 'softmax' },
    optimizer: OPTIMIZERS[4]!,
  },
  {
    data: { train: 'images', trainLabels: 'labels', format: 'idx', recordsPerTask: 16 },
    model: { type: 'mlp', hidden: [5], normalization: 'batch', dropout: 0.5 },
    optimizer: OPTIMIZERS[4]!,
  },
  {
    data: { train: 'train.csv', format: 'csv', recordsPerTask: 37, maxBadRecords: 100, columns: TABLE_COLUMNS },
    model: { type: 'deepfm', factors: 3, hidden: [6], dropout: 0.2, normalization: 'batch' },
    optimizer: OPTIMIZERS[4]!,
  },
];

const SCHEDULE = { type: 'step', everyPasses: 0.2, factor: 0.8, warmup: { passes: 0.5 } };

it.each([
  ...JOBS.map((job) => ({ ...job, schedule: undefined })),
  ...JOBS.slice(-2).map((job) => ({ ...job, schedule: SCHEDULE })),
])('$model.type with $optimizer.type, schedule: $schedule.type', async ({ schedule, ...more }) => {
  const place = testPlace();
  const job = jobOf(more, { schedule });
  const weightOf = job.data.labelWeights ? (record: number): number => (record % 5) / 2 : undefined;
  makeText(place, [3, 40, 41, 42, 43, 44, 45, 46, 47, 100], weightOf);
  makeImages(place);
  makeTable(place);
  const { model, tasks } = await readJob(job, place);
  await deliverAll({ job, model, tasksOf: () => tasks }, await referenceLoop(job, place));
});

const COUNT = { type: 'count', min: 2 };
const DRAW = { type: 'probability', p: 0.3 };
const PASSES = { unseenPasses: 1 };
const UPDATES = { unseenUpdates: 8 };
const CLIPPED = { onBadGradient: 'clip', maxGradientNorm: 0.05 };
type Happened = keyof LimitCounts;
/**
 * Each way to admit together with each way to evict, and each of them with a bound and without one. `happened`: what
 * must have happened more than 20 times, so that equal digests mean something.
 */
const LIMITED = [
  {
    optimizer: 'sgd',
    tables: { v: { admission: COUNT, eviction: UPDATES, maxBytes: 6_000 } },
    happened: ['unseen', 'bound', 'refused', 'promoted', 'dropped'],
  },
  {
    optimizer: 'momentum',
    tables: { w: { admission: COUNT }, v: { admission: DRAW } },
    training: CLIPPED,
    happened: ['promoted', 'dropped'],
  },
  {
    optimizer: 'ftrl',
    tables: { w: { eviction: PASSES, maxBytes: 4_000 }, v: { admission: COUNT, eviction: PASSES } },
    happened: ['unseen', 'bound', 'promoted', 'dropped'],
  },
  {
    optimizer: 'adagrad',
    tables: { w: { maxBytes: 2_000 }, v: { admission: { ...COUNT, min: 3 }, maxBytes: 6_000 } },
    happened: ['bound', 'refused', 'promoted', 'dropped'],
  },
  {
    optimizer: 'adam',
    tables: { w: { admission: DRAW, eviction: UPDATES }, v: { eviction: UPDATES, maxBytes: 6_000 } },
    happened: ['unseen', 'bound', 'refused', 'dropped'],
  },
  {
    optimizer: 'adamw',
    tables: {
      w: { admission: COUNT, eviction: { unseenPasses: 2 }, maxBytes: 16_000 },
      v: { admission: DRAW, eviction: PASSES, maxBytes: 24_000 },
    },
    training: { schedule: SCHEDULE },
    happened: ['unseen', 'bound', 'promoted', 'dropped'],
  },
] as const satisfies { optimizer: OptimizerSpec['type']; tables: object; training?: object; happened: Happened[] }[];

it.each(LIMITED)(
  'tables that admit and evict, with $optimizer',
  async ({ optimizer: type, tables, happened, ...more }) => {
    const optimizer = OPTIMIZERS.findLast((one) => one.type === type);
    const limited = { model: { type: 'fm', factors: 3 }, optimizer, tables, cluster: { shards: SHARDS } };
    const job = jobOf(limited, { passes: 6, ...('training' in more ? more.training : {}) });
    const texts = await Promise.all(
      [0, 1, 2].map((text) => {
        const place = testPlace();
        // One mini-batch of each task has no good record. So lanes, and whole rounds, bring nothing.
        const bad = Array.from({ length: RECORDS }, (_, i) => i).filter((i) => Math.floor((i % 37) / 8) === text);
        makeText(place, bad, undefined, { seed: text, ids: 700 });
        return readJob(job, place);
      }),
    );
    // Passes differ in their ids: otherwise a complete pass would name all ids, and `unseenPasses` would evict nothing.
    const tasksOf = (pass: number): readonly TaskRecords[] => texts[pass % texts.length]!.tasks;
    const { model } = texts[0]!;
    const wanted = trainPlainly(job, model, tasksOf);
    for (const one of happened) expect(wanted.limits![one], one).toBeGreaterThan(20);
    await deliverAll({ job, model, tasksOf }, wanted);
  },
);
