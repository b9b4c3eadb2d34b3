/** The mini-batches of several lanes in one round, with the union of their ids: one pull serves them all. */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import type { LanePush } from '../../../cluster/client/lane-sender.ts';
import { noMetrics } from '../../../model/metrics.ts';
import { idsOf, type Model, ordinaryStep, type PulledValues } from '../../../model/model.ts';
import type { IdList, IdRouter } from '../../../tensor/id-router.ts';
import type { GradientCheck } from '../compute/gradient-check.ts';
import { type IdUnion, stepInUnion, uniteIds } from '../compute/id-union.ts';
import type { LaneReader, LaneRecords } from './lane-reader.ts';

export interface LaneBatches {
  readonly round: number;
  readonly lanes: readonly number[];
  /** By lane, without those that could not be read; undefined when the lane is empty in this round. */
  readonly records: ReadonlyMap<number, LaneRecords | undefined>;
  readonly failures: ReadonlyMap<number, PaddletError>;
  /** By table, the ids to pull; undefined when no lane has a good record. */
  readonly ids: readonly IdList[] | undefined;
  readonly union: IdUnion;
  /** For each lane with good records, the number of its batch in the union. */
  readonly batchNumbers: ReadonlyMap<number, number>;
}

export async function prepareLanes(
  { reader, router, model }: { reader: LaneReader; router: IdRouter; model: Pick<Model, 'lookups'> },
  round: number,
  lanes: readonly number[],
): Promise<LaneBatches> {
  const records = new Map<number, LaneRecords | undefined>();
  const failures = new Map<number, PaddletError>();
  const read = await Promise.allSettled(lanes.map((lane) => reader.read(round, lane)));
  read.forEach((one, i) => {
    if (one.status === 'fulfilled') records.set(lanes[i]!, one.value);
    else if (isPaddletError(one.reason)) failures.set(lanes[i]!, one.reason);
    else throw one.reason;
  });
  const filled = [...records].filter(([, one]) => one !== undefined && one.batch.records > 0);
  const union = uniteIds(
    router,
    model,
    filled.map(([, one]) => one!.batch),
  );
  const batchNumbers = new Map(filled.map(([lane], number) => [lane, number]));
  return { round, lanes, records, failures, ids: filled.length === 0 ? undefined : union.ids, union, batchNumbers };
}

export interface ComputedWith {
  readonly timeline: number;
  readonly values: PulledValues | undefined;
  readonly gradientCheck: GradientCheck;
}

/**
 * What the lane adds to its round: the mean gradient over its good records. It is computed from the lane's own batch
 * alone, so that its bits do not depend on which other lanes this trainer has. Throws `BadGradient`.
 */
export function computeLane(
  model: Model,
  batches: LaneBatches,
  lane: number,
  { timeline, values, gradientCheck }: ComputedWith,
): LanePush {
  const records = batches.records.get(lane);
  const at = { timeline, round: batches.round, lane };
  if (records === undefined) {
    return { ...at, batch: undefined, records: 0, metrics: noMetrics, gradients: undefined };
  }
  const { position, batch, good } = records;
  const ledgerEntry = { pass: position.pass, task: position.task, push: position.push, last: position.last, good };
  const number = batches.batchNumbers.get(lane);
  if (number === undefined || values === undefined) {
    return { ...at, batch: ledgerEntry, records: 0, metrics: noMetrics, gradients: undefined };
  }
  const step = stepInUnion(model, batch, values, batches.union, number);
  // Kept until its round is done, while other lanes are computed.
  const { dense, sparse, metrics } = ordinaryStep(model, step);
  const gradients = { dense, sparse, ids: idsOf(model, batch) };
  gradientCheck.check(gradients, () => records.describe());
  return {
    ...at,
    ...{ batch: ledgerEntry, records: batch.records, metrics: gradientCheck.metricsOf(metrics), gradients },
  };
}
