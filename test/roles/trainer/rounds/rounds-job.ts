/** A small job of sync mode: what its records and its model are, and what must come out, computed by a plain loop. */
import { createRoundPlan, type RoundPlan } from '../../../../src/core/rounds/plan.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import { noMetrics } from '../../../../src/model/metrics.ts';
import type { Batch, Model, PulledValues, StepResult } from '../../../../src/model/model.ts';
import { sparseTask } from '../../../data/formats/libsvm/sparse-text.ts';

export const LANES = 4;
export const BATCH = 3;
/** The last task has fewer lanes beside it: some are empty then. */
export const TASK_RECORDS = Uint32Array.of(7, 7, 7, 7, 7, 7, 4, 7, 2);
export const PASSES = 2;

export const SPEC: Model['parameters'] = {
  dense: [{ name: 'bias', shape: [1], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'rows', width: 1, initializer: { type: 'zeros' } }],
};

export const planOf = (): RoundPlan =>
  createRoundPlan({ taskRecords: TASK_RECORDS, batchSize: BATCH, passes: PASSES, lanes: LANES, seed: 5 });

/** Every record has a feature that all share. Those of batch 1 of task 3 are all bad. */
export function recordsOf(task: number): TaskRecords {
  const lines = Array.from({ length: TASK_RECORDS[task]! }, (_, i) => {
    const isBad = task === 3 && i >= BATCH && i < 2 * BATCH;
    return isBad ? '1 x\n' : `${(task + i) % 2} 0:1 ${1 + ((task * 7 + i) % 23)}:0.5 ${100 + task}:0.25\n`;
  });
  return sparseTask({ file: `task ${task}`, text: lines.join(''), labels: { task: 'binary' }, batchSize: BATCH });
}

/** A linear one: its gradients depend on the values that they are computed from. */
export const MODEL: Pick<Model, 'step' | 'parameters' | 'lookups'> = {
  parameters: SPEC,
  lookups: [0],
  step(batch: Batch, { dense, sparse }: PulledValues): StepResult {
    const { records, labels } = batch;
    const { offsets, rows, values, count } = batch.sparse[0]!;
    const bias = new Float32Array(1);
    const slopes = new Float32Array(count);
    let loss = 0;
    for (let r = 0; r < records; r++) {
      let score = dense[0]![0]!;
      for (let f = offsets[r]!; f < offsets[r + 1]!; f++) score += sparse[0]![rows[f]!]! * (values?.[f] ?? 1);
      const error = score - labels[r]!;
      loss += error * error;
      bias[0]! += error / records;
      for (let f = offsets[r]!; f < offsets[r + 1]!; f++) slopes[rows[f]!]! += (error * (values?.[f] ?? 1)) / records;
    }
    return { dense: [bias], sparse: [slopes], metrics: { ...noMetrics, records, loss } };
  },
};

export interface Values {
  /** Where it lies. */
  readonly dense: number | undefined;
  readonly rows: ReadonlyMap<number, number>;
}

export interface LaneSum {
  readonly records: number;
  readonly dense: number | undefined;
  readonly rows: ReadonlyMap<number, number>;
}

const RATE = 0.3;

/** The mean over all records, lane by lane; then one step of plain SGD. */
export function applyRound(values: Values, lanes: readonly LaneSum[]): Values {
  const total = lanes.reduce((sum, { records }) => sum + records, 0);
  const rows = new Map(values.rows);
  const sums = new Map<number, number>();
  let bias = 0;
  for (const lane of lanes) {
    bias = Math.fround(bias + lane.records * (lane.dense ?? 0));
    for (const [id, one] of lane.rows) sums.set(id, Math.fround((sums.get(id) ?? 0) + lane.records * one));
  }
  const moved = (value: number, sum: number): number => Math.fround(value - RATE * Math.fround(sum / total));
  for (const [id, sum] of sums) rows.set(id, moved(rows.get(id) ?? 0, sum));
  return { dense: values.dense === undefined || total === 0 ? values.dense : moved(values.dense, bias), rows };
}

/** The definition of the answer: no roles, no messages. `change`: what is made of the gradient of a lane. */
export function plainLoop(change = (lane: LaneSum): LaneSum => lane): Values {
  const plan = planOf();
  let values: Values = { dense: 0, rows: new Map() };
  for (let round = 0; plan.placeOf(round) !== undefined; round++) {
    const lanes = Array.from({ length: LANES }, (_, lane): LaneSum => {
      const place = plan.batchOf(round, lane);
      const batch = place === undefined ? undefined : recordsOf(place.task).batch(place.from, place.to);
      if (batch === undefined || batch.records === 0) return { records: 0, dense: undefined, rows: new Map() };
      const { records } = batch;
      const { ids, count } = batch.sparse[0]!;
      const numbers = [...new BigUint64Array(ids.slice(0, 8 * count).buffer)].map(Number);
      const sparse = [Float32Array.from(numbers, (id) => values.rows.get(id) ?? 0)];
      const step = MODEL.step(batch, { dense: [Float32Array.of(values.dense!)], sparse });
      const rows = new Map(numbers.map((id, i) => [id, step.sparse[0]![i]!]));
      return change({ records, dense: step.dense[0]![0]!, rows });
    });
    values = applyRound(values, lanes);
  }
  return values;
}
