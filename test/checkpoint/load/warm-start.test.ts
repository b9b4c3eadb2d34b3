/**
 * A new job begins with another one's parameters: any number of pservers and shards, chosen variables, with or without
 * state.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { loadWarmStart, type WarmLoaded } from '../../../src/checkpoint/load/warm-load.ts';
import {
  planWarmStart,
  type WarmPlan,
  type WarmWish,
  warmPlanSchema,
  withZeros,
} from '../../../src/checkpoint/load/warm-plan.ts';
import { withCheckpointAt } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { freshState } from '../../../src/tensor/fresh-state.ts';
import { type OptimizerSpec, type TrainedSpec, trainedSpec } from '../../../src/tensor/optimizer.ts';
import type { Parameters, ShardRows } from '../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../src/tensor/shard-hash.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { plannedShards } from '../cluster-fixture.ts';
import { createFiles, emptyParameters, fill, IDS, jobOf, metaOf, momentOf, uuidOf } from '../fixture.ts';

const FOLDER = '/old/checkpoints';
const OLD = jobOf();
const WISH: WarmWish = { from: FOLDER, vars: ['*'], optimizerState: true, missing: 'fail' };
const SGD: OptimizerSpec = { type: 'sgd', learningRate: 0.5, l2: 0 };
const FTRL: OptimizerSpec = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.2, lambda2: 0.3 };

let disk: StoredFiles;
/** Everything the old job held. */
let old: Parameters;

beforeEach(async () => {
  disk = createFiles();
  old = emptyParameters(OLD);
  for (let shard = 0; shard < OLD.shards; shard++) old.addShard(shard);
  fill(old, OLD, IDS);
  for (const index of [0, 1]) {
    await writeCheckpointFile({
      storage: disk.storage,
      folder: FOLDER,
      meta: metaOf(OLD, { index, uuid: uuidOf(10 + index), jobName: 'old' }),
      parameters: old,
      shards: plannedShards(index, 2, OLD.shards),
      momentOf: momentOf(),
    });
  }
});

interface NewJob {
  readonly spec: TrainedSpec;
  readonly shards: number;
  readonly pservers: number;
}
const NEW: NewJob = { spec: OLD.parameters, shards: 5, pservers: 3 };

const planFor = (job: NewJob, wish: Partial<WarmWish> = {}): Promise<WarmPlan> =>
  withCheckpointAt(disk.storage, wish.from ?? FOLDER, (set) =>
    planWarmStart(set, { wish: { ...WISH, ...wish }, spec: job.spec }),
  );

/** The parameters of each pserver of the new job, and what it says it took over. */
async function start(job: NewJob, plan: WarmPlan): Promise<{ into: Parameters; loaded: WarmLoaded[] }[]> {
  return Promise.all(Array.from({ length: job.pservers }, (_, index) => startOne(job, plan, index)));
}

async function startOne(
  job: NewJob,
  plan: WarmPlan,
  index: number,
): Promise<{ into: Parameters; loaded: WarmLoaded[] }> {
  // As the pservers get it.
  const kept = warmPlanSchema.parse(JSON.parse(JSON.stringify(plan)));
  const spec = withZeros(job.spec, kept.zeroed);
  const into = createParameters({ spec, seed: 99, shards: job.shards });
  const shards = plannedShards(index, job.pservers, job.shards);
  for (const shard of shards) into.addShard(shard);
  const { shards: shardCount } = job;
  return { into, loaded: await loadWarmStart({ storage: disk.storage, plan: kept, spec, shardCount, shards, into }) };
}

const tableOf = (parameters: readonly Parameters[], table: number): ShardRows[] =>
  parameters.map((one) => one.readRows(table, one.sortedIds(table)));

/** A row as plain numbers, by id. */
function rowsById(parameters: readonly Parameters[], table: number, width: number): Map<bigint, unknown> {
  const rows = new Map<bigint, unknown>();
  for (const { ids, values, slots, steps } of tableOf(parameters, table)) {
    ids.forEach((id, at) => {
      const cut = (array: Float32Array): number[] => [...array.subarray(at * width, (at + 1) * width)];
      const state = Object.fromEntries(Object.entries(slots).map(([name, slot]) => [name, cut(slot)]));
      expect(rows.has(id), 'a row is held once').toBe(false);
      rows.set(id, { values: cut(values), state, step: steps?.[at] });
    });
  }
  return rows;
}

const blocksOf = (parameters: readonly Parameters[]): unknown[] =>
  parameters
    .flatMap((one) => one.shards().flatMap((shard) => one.exportBlocks(shard)))
    .sort((a, b) => a.parameter - b.parameter || a.block - b.block);

const allOf = (parameters: readonly Parameters[]): unknown => [
  blocksOf(parameters),
  rowsById(parameters, 0, 3),
  rowsById(parameters, 1, 1),
];

describe('all of it', () => {
  it.each([
    { shards: 5, pservers: 3 },
    { shards: 8, pservers: 2 },
    { shards: 1, pservers: 1 },
    { shards: 64, pservers: 4 },
  ])('lands in $shards shards of $pservers pservers, each row and block once', async (cluster) => {
    const job = { ...NEW, ...cluster };
    const plan = await planFor(job);
    const started = await start(job, plan);
    const held = started.map(({ into }) => into);
    expect(allOf(held)).toEqual(allOf([old]));
    const ids = started.map(({ into }) => [...into.sortedIds(0)]);
    for (const [index, mine] of ids.entries()) {
      for (const id of mine) expect(shardOfRow('emb', id, job.shards) % job.pservers).toBe(index);
    }
    // What the pservers report adds up to what was planned.
    for (const { name, rows, bytes } of plan.loaded) {
      const parts = started.flatMap(({ loaded }) => loaded.filter((one) => one.name === name));
      expect(parts.reduce((sum, part) => sum + part.rows, 0)).toBe(rows);
      expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(bytes);
    }
    expect(plan).toMatchObject({ job: 'old', zeroed: [], initialized: [], leftOut: [] });
    expect(plan.loaded.find(({ name }) => name === 'emb')?.rows).toBe(IDS.length);
  });

  it('is the same when it is loaded again', async () => {
    const plan = await planFor(NEW);
    const [first, again] = [await start(NEW, plan), await start(NEW, plan)];
    expect(allOf(first.map(({ into }) => into))).toEqual(allOf(again.map(({ into }) => into)));
  });
});

it('fills only the shards it is told to', async () => {
  const plan = await planFor(NEW);
  const into = createParameters({ spec: NEW.spec, seed: 99, shards: NEW.shards });
  for (let shard = 0; shard < NEW.shards; shard++) into.addShard(shard);
  fill(into, jobOf({ shards: NEW.shards }), IDS, 50);
  const before = into.exportRows(3, 0);
  for (const shard of [1, 2]) {
    into.dropShard(shard);
    into.addShard(shard);
  }
  const { spec, shards: shardCount } = NEW;
  await loadWarmStart({ storage: disk.storage, plan, spec, shardCount, shards: [1, 2], into });
  expect(into.exportRows(3, 0)).toEqual(before);
  const taken = into.exportRows(1, 0);
  expect(taken.values).toEqual(old.readRows(0, taken.ids).values);
});

it.each([SGD, FTRL])('takes values alone into an optimizer of another type: $type', async (optimizer) => {
  const job = { ...NEW, spec: trainedSpec(OLD.parameters, { optimizer }) };
  await expect(planFor(job)).rejects.toMatchObject({ code: 'JobInvalid', exitCode: 2 });
  const plan = await planFor(job, { optimizerState: false });
  const held = (await start(job, plan)).map(({ into }) => into);
  for (const { ids, values, slots } of tableOf(held, 0)) {
    expect(values).toEqual(old.readRows(0, ids).values);
    expect(slots).toEqual(freshState(optimizer, values).slots);
  }
});

it('refuses another optimizer of what is taken over only, and names it', async () => {
  const { dense, sparse } = OLD.parameters;
  const spec = { dense, sparse: sparse.map((one) => (one.name === 'emb' ? { ...one, optimizer: FTRL } : one)) };
  await expect(planFor({ ...NEW, spec })).rejects.toMatchObject({
    code: 'JobInvalid',
    message: expect.stringContaining('the optimizer of emb is adam in the checkpoint, but ftrl in the job'),
  });
  const plan = await planFor({ ...NEW, spec }, { vars: ['emb/*', 'w', 'lay*'] });
  expect(plan).toMatchObject({ initialized: ['emb'], leftOut: ['emb'] });
});

describe('chosen and missing variables', () => {
  const wider: TrainedSpec = {
    dense: [
      ...OLD.parameters.dense,
      { name: 'head', shape: [4], initializer: { type: 'constant', value: 2 }, optimizer: SGD },
    ],
    sparse: [
      ...OLD.parameters.sparse,
      { name: 'fresh', width: 2, initializer: { type: 'constant', value: 3 }, optimizer: SGD },
    ],
  };
  const job = { ...NEW, spec: wider, shards: 4, pservers: 1 };
  const newValues = async (plan: WarmPlan): Promise<{ head: number[]; fresh: number[]; emb: number }> => {
    const [{ into } = { into: old }] = await start(job, plan);
    const fresh = new Float32Array(2);
    into.pullSparse(2, new Uint8Array(BigUint64Array.of(7n).buffer), new Uint8Array(fresh.buffer));
    return { head: [...into.readBlock(2, 0).values], fresh: [...fresh], emb: into.sortedIds(0).length };
  };

  it('fail', async () => {
    await expect(planFor(job)).rejects.toMatchObject({ code: 'JobInvalid', message: /has no head, fresh/ });
  });

  it('begin at their initializers', async () => {
    const plan = await planFor(job, { missing: 'initialize' });
    expect(plan).toMatchObject({ initialized: ['head', 'fresh'], zeroed: [] });
    expect(await newValues(plan)).toEqual({ head: [2, 2, 2, 2], fresh: [3, 3], emb: IDS.length });
  });

  it('begin at zero', async () => {
    const plan = await planFor(job, { missing: 'zero' });
    expect(plan).toMatchObject({ initialized: [], zeroed: ['head', 'fresh'] });
    expect(await newValues(plan)).toEqual({ head: [0, 0, 0, 0], fresh: [0, 0], emb: IDS.length });
  });

  it('what is not chosen is not taken over, and needs not fit', async () => {
    const spec: TrainedSpec = {
      dense: [],
      sparse: [OLD.parameters.sparse[0]!, { name: 'w', width: 9, initializer: { type: 'zeros' }, optimizer: SGD }],
    };
    const plan = await planFor({ ...NEW, spec }, { vars: ['em?'] });
    expect(plan.loaded.map(({ name }) => name)).toEqual(['emb']);
    expect(plan).toMatchObject({ initialized: ['w'], leftOut: ['w', 'layer/bias', 'emb/values.0'] });
  });

  it('a name of nothing is refused', async () => {
    await expect(planFor(NEW, { vars: ['emb', 'nope*'] })).rejects.toMatchObject({
      code: 'JobInvalid',
      message: /nope\*/,
    });
  });
});

it.each([
  { name: 'emb', what: /emb is a table of width 3 there, a table of width 4/ },
  { name: 'w', what: /w is a dense parameter of shape \[3, 5\] there, a dense parameter of shape \[5, 3\]/ },
])('refuses another size of $name', async ({ what, name }) => {
  const { dense, sparse } = OLD.parameters;
  const spec: TrainedSpec = {
    dense: dense.map((one) => (one.name === name ? { ...one, shape: [5, 3] } : one)),
    sparse: sparse.map((one) => (one.name === name ? { ...one, width: 4 } : one)),
  };
  await expect(planFor({ ...NEW, spec })).rejects.toMatchObject({ code: 'JobInvalid', message: what });
});

describe('files', () => {
  const path = (index: number): string => `${FOLDER}/${index}/${uuidOf(10 + index)}`;

  it('a flipped byte is found before the job begins, and its part named', async () => {
    const bytes = disk.content(path(1))!;
    disk.flip(path(1), bytes.length - 400);
    await expect(planFor(NEW)).rejects.toMatchObject({ code: 'CheckpointCorrupt', message: /damaged: / });
  });

  it('a folder that lacks shards is refused', async () => {
    await disk.remove(path(1));
    await expect(planFor(NEW)).rejects.toMatchObject({ code: 'CheckpointMissing', message: /4 of 8 shards/ });
  });

  it('a file that is gone later is a clear error', async () => {
    const plan = await planFor(NEW);
    await disk.remove(path(0));
    await expect(start(NEW, plan)).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });

  it('a byte that flips later is found, and its part named', async () => {
    const plan = await planFor(NEW);
    disk.flip(path(1), disk.content(path(1))!.length - 400);
    await expect(start(NEW, plan)).rejects.toMatchObject({ code: 'CheckpointCorrupt', message: /1.*: damaged: / });
  });

  it('in a file that a pserver does not read from, it is not that pserver that fails', async () => {
    const job = { ...NEW, shards: OLD.shards, pservers: 2 };
    const plan = await planFor(job);
    disk.flip(path(1), disk.content(path(1))!.length - 400);
    const outcomes = await Promise.allSettled([0, 1].map((index) => startOne(job, plan, index)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('a newer checkpoint in the folder changes nothing of a plan', async () => {
    const plan = await planFor(NEW);
    fill(old, OLD, IDS, 8);
    const meta = metaOf(OLD, { index: 0, uuid: uuidOf(20), jobName: 'old' });
    const shards = plannedShards(0, 2, OLD.shards);
    await writeCheckpointFile({
      storage: disk.storage,
      folder: FOLDER,
      meta,
      parameters: old,
      shards,
      momentOf: momentOf(500),
    });
    const held = (await start(NEW, plan)).map(({ into }) => into);
    const [rows] = tableOf(held, 0);
    expect(rows!.values).not.toEqual(old.readRows(0, rows!.ids).values);
    expect((await planFor(NEW)).files.map(({ uuid }) => uuid)).toContain(uuidOf(20));
  });
});
