/** The mini-batches of several lanes in one round, with the union of their ids: one pull serves them all. */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import type { LanePush } from '../../../cluster/client/lane-sender.ts';
import type { IdList } from '../../../cluster/client/slicer.ts';
import { noMetrics } from '../../../model/metrics.ts';
import type { Model, PulledValues } from '../../../model/model.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import { isFiniteGradient } from '../compute/accumulate-gradients.ts';
import { createWindow, idsOf, type Window } from '../compute/id-union.ts';
import { badGradient, valuesOf } from '../tasks/train-task.ts';
import type { LaneReader, LaneRecords } from './lane-reader.ts';

export interface LaneBatches {
  readonly round: number;
  readonly lanes: readonly number[];
  /** Of the lanes that could be read; undefined: the lane is empty. */
  readonly records: ReadonlyMap<number, LaneRecords | undefined>;
  readonly failures: ReadonlyMap<number, PaddletError>;
  /** What is to be pulled; undefined when no lane has a good record. */
  readonly ids: IdList | undefined;
  readonly window: Window;
  /** For each lane with good records, its number in the window. */
  readonly places: ReadonlyMap<number, number>;
}

export async function prepareLanes(
  { reader, router }: { reader: LaneReader; router: IdRouter },
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
  const filled = [...records].filter(([, one]) => one !== undefined && one.batch.data.records > 0);
  const window = createWindow(
    router,
    filled.map(([, one]) => one!.batch),
  );
  const places = new Map(filled.map(([lane], place) => [lane, place]));
  return { round, lanes, records, failures, ids: filled.length === 0 ? undefined : window.ids, window, places };
}

/**
 * What the lane adds to its round: from its own batch alone, so that the bits do not depend on which other lanes this trainer
 * has. Throws `BadGradient`.
 */
export function computeLane(
  model: Model,
  batches: LaneBatches,
  lane: number,
  { timeline, values }: { timeline: number; values: PulledValues | undefined },
): LanePush {
  const records = batches.records.get(lane);
  const at = { timeline, round: batches.round, lane };
  if (records === undefined) {
    return { ...at, batch: undefined, records: 0, metrics: noMetrics, gradients: undefined };
  }
  const { place, batch, good } = records;
  const position = { pass: place.pass, task: place.task, push: place.push, last: place.last, good };
  const index = batches.places.get(lane);
  if (index === undefined || values === undefined) {
    return { ...at, batch: position, records: 0, metrics: noMetrics, gradients: undefined };
  }
  const { dense, sparse, metrics } = model.step(batch, valuesOf(model, batches.window, index, values));
  const gradients = { dense, sparse, ids: idsOf(batch) };
  if (!isFiniteGradient(gradients)) throw badGradient(records.describe());
  return { ...at, batch: position, records: batch.data.records, metrics, gradients };
}
