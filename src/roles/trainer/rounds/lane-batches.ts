/**
 * The mini-batches of several lanes in one round, with the ids that are pulled for them: of each lane by itself, so
 * that it is pushed under the ids that it was pulled under, or of several lanes together where there are many.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { PulledList } from '../../../cluster/client/joined-pull.ts';
import type { LanePush } from '../../../cluster/client/lane-sender.ts';
import { noMetrics } from '../../../model/metrics.ts';
import { type Batch, freeStep, idsOf, type Model, ordinaryStep } from '../../../model/model.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import type { GradientCheck } from '../compute/gradient-check.ts';
import { type IdUnion, stepInUnion, uniteIds } from '../compute/id-union.ts';
import type { KeptLanes } from './kept-lanes.ts';
import type { LaneReader, LaneRecords } from './lane-reader.ts';

export interface LaneBatches {
  readonly round: number;
  readonly lanes: readonly number[];
  /** By lane, without those that could not be read; undefined when the lane is empty in this round. */
  readonly records: ReadonlyMap<number, LaneRecords | undefined>;
  readonly failures: ReadonlyMap<number, PaddletError>;
  /** What is pulled, each as a list by itself; none when no lane has a good record. */
  readonly unions: readonly IdUnion[];
  /** For each lane with good records, where its batch is among the unions. */
  readonly places: ReadonlyMap<number, { readonly union: number; readonly batch: number }>;
}

/**
 * Lists that are pulled at most, and what their rows may have together: an id that is in several lists is pulled for
 * each, and a pserver answers with all of them in one frame. Above that all lanes are one list.
 */
const MOST_LISTS = 8;
const MOST_LIST_BYTES = LIMITS.frameBytes / 4;

export async function prepareLanes(
  { reader, router, model }: { reader: LaneReader; router: IdRouter; model: Pick<Model, 'lookups' | 'parameters'> },
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
  const filled = [...records].flatMap(([lane, one]) => (one?.batch.records ? [{ lane, batch: one.batch }] : []));
  const mostLists = Math.min(MOST_LISTS, Math.floor(LIMITS.parameters / Math.max(1, model.lookups.length)));
  const bytes = filled.reduce((sum, { batch }) => sum + bytesOfRows(model, batch), 0);
  const size = bytes > MOST_LIST_BYTES ? filled.length : Math.ceil(filled.length / mostLists);
  const places = new Map(
    filled.map(({ lane }, i) => [lane, { union: Math.floor(i / size), batch: i % size }] as const),
  );
  const unions: IdUnion[] = [];
  for (let from = 0; from < filled.length; from += size) {
    const some = filled.slice(from, from + size).map(({ batch }) => batch);
    unions.push(uniteIds(router, model, some));
  }
  return { round, lanes, records, failures, unions, places };
}

const bytesOfRows = (model: Pick<Model, 'lookups' | 'parameters'>, batch: Batch): number =>
  idsOf(model, batch).reduce((sum, { count }, table) => sum + 4 * count * model.parameters.sparse[table]!.width, 0);

export interface ComputedWith {
  readonly timeline: number;
  /** The pulled values of each union. */
  readonly pulled: readonly PulledList[];
  readonly gradientCheck: GradientCheck;
  readonly kept: Pick<KeptLanes, 'hasRoom'>;
}

/**
 * What the lane adds to its round: the mean gradient over its good records. It is computed from the lane's own batch
 * alone, so that its bits do not depend on which other lanes this trainer has. Throws `BadGradient`.
 */
export function computeLane(
  model: Model,
  batches: LaneBatches,
  lane: number,
  { timeline, pulled, gradientCheck, kept }: ComputedWith,
): LanePush {
  const records = batches.records.get(lane);
  const at = { timeline, round: batches.round, lane };
  if (records === undefined) {
    return { ...at, batch: undefined, records: 0, metrics: noMetrics, gradients: undefined };
  }
  const { position, batch, good } = records;
  const ledgerEntry = { pass: position.pass, task: position.task, push: position.push, last: position.last, good };
  const place = batches.places.get(lane);
  if (place === undefined) {
    return { ...at, batch: ledgerEntry, records: 0, metrics: noMetrics, gradients: undefined };
  }
  const union = batches.unions[place.union]!;
  const { values, routed } = pulled[place.union]!;
  const { pass, task, push } = position;
  // A push of a lane is one mini-batch.
  const computed = stepInUnion(model, batch, values, union, place.batch, { pass, task, batch: push });
  // Kept until its round is done, while any number of other lanes is computed: not all may fit into kernel memory.
  const { dense, sparse, metrics } = kept.hasRoom(computed) ? computed : ordinaryStep(model, computed);
  const isOwn = union.positions[place.batch] === undefined;
  const gradients = { dense, sparse, ids: idsOf(model, batch), routed: isOwn ? routed : undefined };
  try {
    gradientCheck.check(gradients, () => records.describe());
  } catch (error) {
    freeStep(model, gradients);
    throw error;
  }
  return {
    ...at,
    ...{ batch: ledgerEntry, records: batch.records, metrics: gradientCheck.metricsOf(metrics), gradients },
  };
}
