/** A warm start of tables with candidates and bounds (docs/decisions/0168). */
import { expect, it } from 'vitest';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { loadWarmStart, type WarmLoaded } from '../../../src/checkpoint/load/warm-load.ts';
import { planWarmStart, type WarmPlan, warmPlanSchema } from '../../../src/checkpoint/load/warm-plan.ts';
import { withCheckpointAt } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { LOADING_EXCESS, memoryFactor } from '../../../src/tensor/admission/admission.ts';
import type { TrainedSpec, TrainedTable } from '../../../src/tensor/optimizer.ts';
import type { Parameters } from '../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../src/tensor/shard-hash.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import { applyAll, rowsPart } from '../../tensor/fixture.ts';
import { createFiles, emptyParameters, jobOf, metaOf, momentOf, uuidOf } from '../fixture.ts';

const FOLDER = '/old/checkpoints';
const MOMENTUM = { type: 'momentum', learningRate: 0.5, momentum: 0.9, l2: 0 } as const;
const COUNT_3 = { type: 'count', min: 3 } as const;
const WIDTH = 1;
/** u64 id, value, velocity, `seen`. */
const ROW_BYTES = 20;
const TABLE: TrainedTable = {
  ...{ name: 'emb', width: WIDTH, initializer: { type: 'zeros' }, optimizer: MOMENTUM },
  hasSeen: true,
};
const specOf = (rules: Partial<TrainedTable>): TrainedSpec => ({ dense: [], sparse: [{ ...TABLE, ...rules }] });

/** The old job: ids below 300 have rows, those below 600 are candidates. Lower ids are more recent. */
async function oldJob(rules: Partial<TrainedTable>, shards = 8) {
  const disk = createFiles();
  const job = { ...jobOf({ optimizer: MOMENTUM, shards }), parameters: specOf(rules) };
  const parameters = emptyParameters(job);
  for (let shard = 0; shard < shards; shard++) parameters.addShard(shard);
  const looks = { base: 0, moveAt: undefined, begins: [], lookAt: [undefined] };
  let seq = 0;
  const push = (from: number, to: number): void => {
    const ids = Array.from({ length: to - from }, (_, at) => BigInt(from + at));
    const seen = new Uint32Array(shards).fill(++seq);
    const part = rowsPart(0, ids, new Float32Array(ids.length).fill(0.25));
    parameters.push([part], [], applyAll(shards), { seen, name: { round: seq } });
  };
  for (let times = 0; times < 3; times++) for (let from = 280; from >= 0; from -= 20) push(from, from + 20);
  for (let times = 0; times < 2; times++) for (let from = 580; from >= 300; from -= 20) push(from, from + 20);
  await writeCheckpointFile({
    ...{ storage: disk.storage, folder: FOLDER, parameters, momentOf: (shard) => ({ ...momentOf()(shard), looks }) },
    meta: metaOf(job, { index: 0, uuid: uuidOf(1), jobName: 'old' }),
    shards: Array.from({ length: shards }, (_, shard) => shard),
  });
  return { disk, parameters };
}

interface NewJob {
  readonly rules: Partial<TrainedTable>;
  readonly shards: number;
  readonly optimizerState?: boolean;
}

async function started(
  { disk }: Pick<Awaited<ReturnType<typeof oldJob>>, 'disk'>,
  { rules, shards, optimizerState = true }: NewJob,
): Promise<{ readonly plan: WarmPlan; readonly into: Parameters; readonly loaded: readonly WarmLoaded[] }> {
  const spec = specOf(rules);
  const wish = { from: FOLDER, vars: ['*'], optimizerState, missing: 'fail' } as const;
  const planned = await withCheckpointAt(disk.storage, FOLDER, (set) => planWarmStart(set, { wish, spec }));
  const plan = warmPlanSchema.parse(JSON.parse(JSON.stringify(planned)));
  const into = createParameters({ spec, seed: 99, shards });
  const all = Array.from({ length: shards }, (_, shard) => shard);
  for (const shard of all) into.addShard(shard);
  return {
    plan,
    into,
    loaded: await loadWarmStart({ storage: disk.storage, plan, spec, shardCount: shards, shards: all, into }),
  };
}

const idsOf = (parameters: Parameters, table = 0): number[] => [...parameters.sortedIds(table)].map(Number);
const CANDIDATES = 1;
const seenIn = (parameters: Parameters, shards: number, table: number): number[] =>
  Array.from({ length: shards }, (_, shard) => [...parameters.exportRows(shard, table).seen!]).flat();

it.each([8, 5])(
  'candidates keep their counts in %i shards if the rule is the same; nothing is seen yet',
  async (shards) => {
    const old = await oldJob({ admission: COUNT_3 });
    const { plan, into, loaded } = await started(old, { rules: { admission: COUNT_3 }, shards });
    expect(plan.loaded.map(({ kind, rows }) => [kind, rows])).toEqual([
      ['sparse', 300],
      ['candidates', 300],
    ]);
    expect(plan.candidatesLeftOut).toBeUndefined();
    expect(loaded.map(({ kind, rows, bytes }) => ({ kind, rows, bytes }))).toEqual(
      plan.loaded.map(({ kind, rows, bytes }) => ({ kind, rows, bytes })),
    );
    expect(idsOf(into)).toEqual(idsOf(old.parameters));
    const candidates = into.readRows(CANDIDATES, into.sortedIds(CANDIDATES));
    expect([...candidates.ids].map(Number)).toEqual(Array.from({ length: 300 }, (_, at) => 300 + at));
    expect(new Set(candidates.steps)).toEqual(new Set([2]));
    expect(new Set([...seenIn(into, shards, 0), ...seenIn(into, shards, CANDIDATES)])).toEqual(new Set([0]));
    // So the next update of a candidate makes its row.
    const seen = new Uint32Array(shards).fill(1);
    into.push([rowsPart(0, [500n], [1])], [], applyAll(shards), { seen, name: { round: 0 } });
    expect(idsOf(into)).toContain(500);
  },
);

it.each([
  ['another count', { type: 'count', min: 4 } as const],
  ['a draw', { type: 'probability', p: 0.5 } as const],
  ['no rule', undefined],
])('candidates stay behind, and the plan says so, if the new job has %s', async (_, admission) => {
  const old = await oldJob({ admission: COUNT_3 });
  const { plan, into } = await started(old, { rules: { admission }, shards: 8 });
  expect(plan.loaded.map(({ kind }) => kind)).toEqual(['sparse']);
  expect(plan.candidatesLeftOut).toEqual(['emb']);
  expect(idsOf(into)).toEqual(idsOf(old.parameters));
  if (admission?.type === 'count') expect(idsOf(into, CANDIDATES)).toEqual([]);
});

/** The ids of a shard among 300. */
const rowsIn = (first: number, shard: number, shards: number): number[] =>
  Array.from({ length: 300 }, (_, at) => first + at).filter((id) => shardOfRow('emb', BigInt(id), shards) === shard);

/** The last of 300 ids of a shard by `seen`, then by id, ascending. Pushes named twenty ids, the highest ones first. */
const mostRecent = (first: number, most: number, shard: number, shards: number): number[] =>
  rowsIn(first, shard, shards)
    .sort((a, b) => Math.floor((b - first) / 20) - Math.floor((a - first) / 20) || a - b)
    .slice(most === 0 ? 300 : -most)
    .sort((a, b) => a - b);

it.each([
  { from: 8, shards: 8, optimizerState: true },
  { from: 8, shards: 3, optimizerState: true },
  // In small pieces.
  { from: 64, shards: 3, optimizerState: false },
])('the most recent rows stay within a bound, then candidates: %o', async ({ from, shards, optimizerState }) => {
  const old = await oldJob({ admission: COUNT_3 }, from);
  const shardBytes = Math.floor((200 * ROW_BYTES) / shards);
  const rules = { admission: COUNT_3, shardBytes };
  const { into, loaded, plan } = await started(old, { rules, shards, optimizerState });
  const most = Math.floor(shardBytes / ROW_BYTES);
  const inAll = (shard: number): number => rowsIn(0, shard, shards).length;
  /** A shard that had too many keeps from nine tenths to all, by its number: so they will not evict all at once. */
  const left = (shard: number, before: number, limit: number): number =>
    before <= limit ? before : limit - Math.floor(((limit - Math.floor((limit * 9) / 10)) * shard) / shards);
  const expected = Array.from({ length: shards }, (_, shard) =>
    mostRecent(0, left(shard, inAll(shard), most), shard, shards),
  );
  expect(idsOf(into)).toEqual(expected.flat().sort((a, b) => a - b));
  expect(plan.loaded[0]!.rows).toBe(300);
  expect(loaded[0]!.rows).toBe(expected.flat().length);
  for (let shard = 0; shard < shards; shard++) {
    const free = shardBytes - into.rowsOf(shard, 0) * ROW_BYTES;
    const room = Math.min(Math.floor(Math.floor(shardBytes / 4) / 16), Math.floor(free / 16));
    const kept = left(shard, rowsIn(300, shard, shards).length, room);
    expect([...into.exportRows(shard, CANDIDATES).ids].map(Number)).toEqual(mostRecent(300, kept, shard, shards));
  }
  expect(new Set(seenIn(into, shards, 0))).toEqual(new Set([0]));
});

it('takes no more memory than a bound allows, although each shard of the checkpoint has six times as much', async () => {
  const COUNT = 60_000;
  const rules = { hasSeen: true };
  const disk = createFiles();
  const shards = 8;
  const job = { ...jobOf({ optimizer: MOMENTUM, shards }), parameters: specOf(rules) };
  const parameters = emptyParameters(job);
  const all = Array.from({ length: shards }, (_, shard) => shard);
  for (const shard of all) parameters.addShard(shard);
  const ids = Array.from({ length: COUNT }, (_, id) => BigInt(id));
  const seen = new Uint32Array(shards).fill(1);
  parameters.push([rowsPart(0, ids, new Float32Array(COUNT))], [], applyAll(shards), { seen, name: { round: 0 } });
  const looks = { base: 0, moveAt: undefined, begins: [], lookAt: [undefined] };
  await writeCheckpointFile({
    ...{
      storage: disk.storage,
      folder: FOLDER,
      parameters,
      momentOf: (shard: number) => ({ ...momentOf()(shard), looks }),
      shards: all,
    },
    meta: metaOf(job, { index: 0, uuid: uuidOf(1), jobName: 'old' }),
  });
  const shardBytes = Math.floor((COUNT * ROW_BYTES) / 6 / shards);
  for (const number of [8, 3]) {
    const bound = Math.floor((shardBytes * shards) / number);
    const { into } = await started({ disk }, { rules: { shardBytes: bound }, shards: number });
    const most = bound * number * (1 + LOADING_EXCESS) * memoryFactor(ROW_BYTES, false);
    expect(into.stats().rows * ROW_BYTES).toBeGreaterThan(0.85 * bound * number);
    expect(into.stats().bytes).toBeLessThan(1.05 * most);
  }
});
