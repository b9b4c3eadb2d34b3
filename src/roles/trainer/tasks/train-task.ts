/**
 * Processes one training task: asks the ledgers for the first push, then pulls, computes and pushes batch after batch,
 * until every pserver has acknowledged the last push. Push `j` has the same records for any trainer (DESIGN §5), so an
 * attempt can start at any push and be repeated.
 */
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { ParameterClient, Pulled } from '../../../cluster/client/parameter-client.ts';
import { throwIfAborted } from '../../../cluster/waiting.ts';
import type { TaskRecords } from '../../../data/source.ts';
import { mergeMetrics, noMetrics } from '../../../model/metrics.ts';
import type { Batch, MetricSums, Model } from '../../../model/model.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import type { Activity } from '../activity.ts';
import { accumulateGradients, type Contribution, oldestVersions } from '../compute/accumulate-gradients.ts';
import { badGradient, isFiniteGradient } from '../compute/finite-gradient.ts';
import { type IdUnion, uniteIds, valuesOfBatch } from '../compute/id-union.ts';

export interface TrainTaskOptions {
  readonly model: Model;
  readonly client: ParameterClient;
  /** The trainer's id. */
  readonly id: string;
  readonly router: IdRouter;
  readonly batchSize: number;
  readonly pushEvery: number;
  readonly pullEvery: number;
  readonly activity: Activity;
  /** The job has a staleness bound of policy `wait`. */
  readonly gated: boolean;
  readonly signal: AbortSignal;
}

export interface TrainedTask {
  /** The lowest recovery number under which the task was seen to be closed. */
  readonly recovery: number;
  readonly read: number;
  readonly good: number;
  readonly duplicate: number;
  readonly metrics: MetricSums;
}

interface Progress {
  recovery: number;
  read: number;
  duplicate: number;
  metrics: MetricSums;
}

export async function trainTask(
  options: TrainTaskOptions,
  task: { pass: number; task: number },
  records: TaskRecords,
): Promise<TrainedTask> {
  // Waiting for an unreachable pserver does not count as time spent on the task.
  options.activity.enter('wait');
  const { next, recovery } = await options.client.position(task.pass, task.task, options.signal);
  const progress: Progress = { recovery, read: 0, duplicate: 0, metrics: noMetrics };
  let from = next;
  while (from >= 0) {
    try {
      await trainFrom(options, task, records, from, progress);
      break;
    } catch (error) {
      const again = pushToRepeat(error);
      if (again === undefined) {
        await options.client.releaseHold(options.id);
        throw error;
      }
      from = again;
    }
  }
  if (next >= 0) await options.client.releaseHold(options.id);
  return { ...progress, good: records.goodBefore(records.records) };
}

/** The push to continue from: the one that a ledger wants, or the stale one, to be computed from fresh values. */
function pushToRepeat(error: unknown): number | undefined {
  if (!isPaddletError(error, 'PushOutOfOrder', 'TooStale')) return undefined;
  const push = error.code === 'TooStale' ? error.details.push : error.details.want;
  return typeof push === 'number' ? push : undefined;
}

async function trainFrom(
  options: TrainTaskOptions,
  { pass, task }: { pass: number; task: number },
  records: TaskRecords,
  firstPush: number,
  progress: Progress,
): Promise<void> {
  const { client, router, batchSize, pushEvery, pullEvery, activity, signal, model } = options;
  const batches = Math.max(1, Math.ceil(records.records / batchSize));
  const first = firstPush * pushEvery;
  const batchAt = (b: number): Batch =>
    records.batch(Math.min(b * batchSize, records.records), Math.min((b + 1) * batchSize, records.records));
  let pulled: (Pulled & { union: IdUnion; batches: Batch[] }) | undefined;
  let contributions: Contribution[] = [];
  /** One push is on its way while the next batch is pulled and computed. */
  let pushing: Promise<void> = Promise.resolve();
  for (let b = first; b < batches; b++) {
    throwIfAborted(signal);
    const inUnion = (b - first) % pullEvery;
    if (inUnion === 0) {
      activity.enter('pull');
      const ahead = Array.from({ length: Math.min(pullEvery, batches - b) }, (_, i) => batchAt(b + i));
      const union = uniteIds(router, ahead);
      const pushes = Math.floor((b + ahead.length - 1) / pushEvery) - Math.floor(b / pushEvery) + 1;
      const holding = contributions.length === 0 ? undefined : oldestVersions(contributions);
      const pull = { trainer: options.id, pushes, holding };
      // With staleness policy `wait`, a pull says that all pushes before it have arrived.
      if (options.gated) await pushing;
      const [fresh] = await Promise.all([client.pullToTrain(union.ids, pull, signal), pushing]);
      if (pulled !== undefined) client.recycle(pulled.values);
      pulled = { union, batches: ahead, ...fresh };
    }
    activity.enter('compute');
    const { union, batches: ahead, values, versions } = pulled!;
    const batch = ahead[inUnion]!;
    const step = batch.data.records === 0 ? undefined : model.step(batch, valuesOfBatch(model, union, inUnion, values));
    contributions.push({ batch, step, versions });
    if (step !== undefined) progress.metrics = mergeMetrics(progress.metrics, step.metrics);
    const last = b === batches - 1;
    if ((b + 1) % pushEvery !== 0 && !last) continue;

    const push = Math.floor(b / pushEvery);
    const end = Math.min((b + 1) * batchSize, records.records);
    const gradients = accumulateGradients(router, model.parameters, contributions);
    const count = contributions.reduce((sum, { batch: one }) => sum + one.data.records, 0);
    const used = oldestVersions(contributions);
    contributions = [];
    if (!isFiniteGradient(gradients)) throw badGradient(records.describe(push * pushEvery * batchSize, end));
    activity.enter('push');
    await pushing;
    const header = { pass, task, push, last, good: records.goodBefore(end), used };
    pushing = client.push(header, gradients, signal).then(({ duplicate, recovery }) => {
      progress.recovery = recovery;
      if (duplicate) progress.duplicate += count;
      activity.position(push + 1);
      failPoint('trainer.pushed');
    });
    // Its failure is handled before the next push, where it is awaited.
    pushing.catch(() => {});
    progress.read += count;
    activity.trained(count, step?.metrics);
  }
  await pushing;
  if (pulled !== undefined) client.recycle(pulled.values);
}
