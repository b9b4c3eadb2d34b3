/** Parameter memories that share the shards of a job, as pservers do, and what of a job can be done with them. */
import { createModelHasher, type Digests, inNameOrder, tablesInOrder } from '../../src/checkpoint/set/model-digest.ts';
import { roundShares } from '../../src/core/round-shares.ts';
import { createRoundPlan, type LaneBatch } from '../../src/core/rounds/plan.ts';
import { weightedByClass } from '../../src/data/class-weights.ts';
import type { Job } from '../../src/job/schema.ts';
import { type Batch, type MetricSums, type Model, ordinaryStep, type PulledValues } from '../../src/model/model.ts';
import { GradientCheck, type GradientRules } from '../../src/roles/trainer/compute/gradient-check.ts';
import { blockShards } from '../../src/tensor/blocks.ts';
import { trainedSpec } from '../../src/tensor/optimizer.ts';
import { type LaneGradients, type Parameters, SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { bytesOf, idBytes, makeParameters } from '../tensor/fixture.ts';
import { joined } from '../tensor/reference.ts';
import { idsOf, laneFor, type PlainLane, sumOf } from '../tensor/rounds.ts';
import type { Loaded } from './read-job.ts';

export const SHARDS = 6;

export interface Part {
  readonly held: readonly number[];
  readonly parameters: Parameters;
}

/** The job's shards dealt to so many memories, with first values. */
export function makeParts(
  { optimizer, tables, blocks, training, cluster }: Job,
  { parameters: spec }: Model,
  count: number,
): Part[] {
  return Array.from({ length: count }, (_, part) => {
    const held = Array.from({ length: SHARDS }, (_, shard) => shard).filter((shard) => shard % count === part);
    const choice = { optimizer, tables, blocks, cluster };
    const options = { spec, ...choice, seed: training.seed, shards: SHARDS, present: held };
    return { held, parameters: makeParameters(options) };
  });
}

export const holder = (parts: readonly Part[], shard: number): Parameters =>
  parts.find(({ held }) => held.includes(shard))!.parameters;

/** What a lane without good records brings. */
export const EMPTY: LaneResult = {
  records: 0,
  dense: [],
  sparse: [],
  metrics: { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 },
};

export interface LaneResult extends PlainLane {
  readonly metrics: MetricSums;
}

/** Of each table. */
export const idsIn = ({ lookups }: Model, batch: Batch): bigint[][] =>
  lookups.map((input) => {
    const { ids, count } = batch.sparse[input]!;
    return idsOf(ids.subarray(0, 8 * count));
  });

export function valuesIn(
  { parameters: spec }: Model,
  parts: readonly Part[],
  ids: readonly (readonly bigint[])[],
): PulledValues {
  return {
    dense: spec.dense.map((dense, parameter) => {
      const blocks = [...blockShards(dense, SHARDS)].map(
        (shard, block) => holder(parts, shard).readBlock(parameter, block).values,
      );
      return joined(blocks);
    }),
    sparse: spec.sparse.map(({ name, width }, table) => {
      const rows = new Float32Array(ids[table]!.length * width);
      ids[table]!.forEach((id, i) => {
        const from = holder(parts, shardOfRow(name, id, SHARDS));
        from.pullSparse(table, idBytes([id]), bytesOf(rows.subarray(i * width, (i + 1) * width)));
      });
      return rows;
    }),
  };
}

export function computeLane(
  model: Model,
  batch: Batch,
  values: PulledValues,
  { pass, task, push }: Pick<LaneBatch, 'pass' | 'task' | 'push'>,
  rules: GradientRules = { onBadGradient: 'fail' },
): LaneResult {
  const { records } = batch;
  if (records === 0) return EMPTY;
  const ids = idsIn(model, batch);
  const { dense, sparse, metrics } = ordinaryStep(model, model.step(batch, values, { pass, task, batch: push }));
  const check = new GradientCheck(rules, { warn: () => {} }, model.parameters.dense);
  check.check({ dense, sparse, ids: [] }, () => 'a lane');
  return {
    records,
    metrics: check.metricsOf(metrics),
    dense: dense.map((gradient) => gradient.slice()),
    sparse: model.parameters.sparse.map(
      ({ width }, table) => new Map(ids[table]!.map((id, i) => [id, sparse[table]!.slice(i * width, (i + 1) * width)])),
    ),
  };
}

/** The job in parameter memories that share the shards, as pservers do. */
export function trainedParts(job: Job, { model, tasks }: Pick<Loaded, 'model' | 'tasks'>, pservers: number): Part[] {
  const { training } = job;
  const spec = model.parameters;
  const parts = makeParts(job, model, pservers);
  const taskRecords = Uint32Array.from(tasks, ({ records }) => records);
  const plan = createRoundPlan({ ...training, taskRecords });
  const shareOf = roundShares(training.schedule, plan, training.passes);
  for (let round = 0; round < plan.firstOf(training.passes); round++) {
    const lanes = Array.from({ length: training.lanes }, (_, lane) => {
      const place = plan.batchOf(round, lane);
      if (place === undefined) return EMPTY;
      const batch = weightedByClass(tasks[place.task]!, training.classWeights).batch(place.from, place.to);
      return computeLane(model, batch, valuesIn(model, parts, idsIn(model, batch)), place, training);
    });
    for (const { held, parameters } of parts) {
      const ofPart = lanes.map((lane): LaneGradients => laneFor(spec, lane, { shards: SHARDS, held }));
      const { sparse, dense } = sumOf(parameters, ofPart);
      const actions = new Uint8Array(SHARDS);
      for (const shard of held) actions[shard] = SHARD_ACTION.apply;
      if (sparse.length + dense.length > 0) parameters.push(sparse, dense, actions, { rateScale: shareOf(round) });
    }
  }
  return parts;
}

export function digestsOf(job: Job, { parameters }: Model, parts: readonly Part[]): Digests {
  const spec = trainedSpec(parameters, job);
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
  for (const [place, table] of tablesInOrder(spec.sparse)) {
    hasher.beginTable(table);
    const { width } = table;
    const rows = parts.flatMap(({ held, parameters: memory }) =>
      held.flatMap((shard) => {
        const { ids, values, slots, steps, seen } = memory.exportRows(shard, place);
        const words = [steps, seen].filter((one) => one !== undefined);
        return Array.from(ids, (id, at) => ({
          id,
          values: values.subarray(at * width, (at + 1) * width),
          state: [
            ...ordered(slots).map((slot) => slot.subarray(at * width, (at + 1) * width)),
            ...words.map((word) => word.subarray(at, at + 1)),
          ],
        }));
      }),
    );
    rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const { id, values, state } of rows) hasher.row(idBytes([id]), bytesOf(values), state.map(bytesOf));
  }
  return hasher.digests();
}
