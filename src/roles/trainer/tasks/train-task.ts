/**
 * Trains one task: pulls, computes and pushes batch after batch. Push `j` has the same records for any trainer
 * (docs/modes.md), so an attempt can start at any push and be repeated.
 */
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { ParameterClient, Pulled } from '../../../cluster/client/parameter-client.ts';
import { type Turns, throwIfAborted } from '../../../cluster/waiting.ts';
import type { TaskRecords } from '../../../data/source.ts';
import { mergeMetrics, noMetrics } from '../../../model/metrics.ts';
import { freeStep, type MetricSums, type Model, ordinaryStep, type StepResult } from '../../../model/model.ts';
import type { Activity } from '../activity.ts';
import { accumulateGradients, type Contribution, oldestVersions } from '../compute/accumulate-gradients.ts';
import type { GradientCheck } from '../compute/gradient-check.ts';
import { stepInUnion } from '../compute/id-union.ts';
import { type BatchGroup, countBatches, type GroupOptions, groupsOf } from './batch-groups.ts';
import type { PulledGroup, PullQueue, PullSource } from './pull-queue.ts';
import { Pushes } from './pushes.ts';

export interface TrainTaskOptions extends GroupOptions {
  readonly model: Model;
  readonly client: Pick<ParameterClient, 'push' | 'recycle'>;
  readonly activity: Pick<Activity, 'enter' | 'position' | 'trained'>;
  readonly gradientCheck: GradientCheck;
  readonly pulls: PullQueue;
  readonly turns: Turns;
  /** Groups of batches that are pulled ahead, and pushes that are on their way beside the last one. */
  readonly pullAhead: number;
  /** The job has a staleness bound of policy `wait`: a pull says that all pushes before it have arrived. */
  readonly gated: boolean;
  readonly signal: AbortSignal;
}

/** What this trainer has done of a task, over all of its tries. */
export interface TaskProgress {
  readonly pass: number;
  readonly task: number;
  readonly records: TaskRecords;
  /** The lowest recovery number under which the task was seen to be closed. */
  recovery: number;
  read: number;
  duplicate: number;
  metrics: MetricSums;
}

/** `recovery`: that the position was asked under. */
export const beginProgress = (
  { pass, task }: { readonly pass: number; readonly task: number },
  records: TaskRecords,
  recovery: number,
): TaskProgress => ({ pass, task, records, recovery, read: 0, duplicate: 0, metrics: noMetrics });

/**
 * The values of the task's batches from this push on. Its pulls begin when there is room; so the task that comes next
 * can have its own open.
 */
export class TaskTraining {
  readonly #options: TrainTaskOptions;
  readonly #progress: TaskProgress;
  readonly #source: PullSource;
  readonly #pushes: Pushes;
  readonly #contributions: Contribution[] = [];

  constructor(options: TrainTaskOptions, progress: TaskProgress, firstPush: number, where: 'first' | 'last') {
    const { pulls, pullAhead, signal } = options;
    this.#options = options;
    this.#progress = progress;
    this.#pushes = new Pushes(pullAhead + 1);
    const groups = groupsOf(progress.records, firstPush, options);
    const holding = () => (this.#contributions.length === 0 ? undefined : oldestVersions(this.#contributions));
    this.#source = pulls.open({ groups, holding, signal }, where);
  }

  /** Computes all batches; resolves when their pushes are on their way. Throws what a pull or a push throws. */
  async run(): Promise<void> {
    const { activity, gated, signal, client } = this.#options;
    try {
      for (;;) {
        throwIfAborted(signal);
        activity.enter('pull');
        if (gated) await this.#pushes.settled();
        const next = await this.#source.take();
        if (next === undefined) return;
        try {
          await this.#train(next);
        } finally {
          client.recycle(next.pulled.values);
        }
      }
    } catch (error) {
      await this.#pushes.settled().catch((first: unknown) => {
        throw isPaddletError(error) ? first : error;
      });
      throw error;
    } finally {
      this.#free(this.#contributions.splice(0));
      this.#source.close();
    }
  }

  /** Resolves when all pushes are acknowledged. Throws what the first one that failed throws. */
  settled(): Promise<void> {
    return this.#pushes.settled();
  }

  /** The task is not trained. */
  close(): void {
    this.#source.close();
  }

  async #train({ group, pulled }: PulledGroup): Promise<void> {
    const { activity, batchSize, pushEvery, turns, signal } = this.#options;
    const progress = this.#progress;
    const batches = countBatches(progress.records, batchSize);
    for (const [i, batch] of group.batches.entries()) {
      activity.enter('compute');
      // Values that were pulled ahead are there at once: steps would follow each other without a turn for others.
      if (turns.areDue()) await turns.take(signal);
      const step = this.#step(group, i, pulled);
      const routed = group.batches.length === 1 ? pulled.routed : undefined;
      this.#contributions.push({ batch, step, versions: pulled.versions, routed });
      if (step !== undefined) progress.metrics = mergeMetrics(progress.metrics, step.metrics);
      const b = group.first + i;
      if ((b + 1) % pushEvery === 0 || b === batches - 1) await this.#push(b, b === batches - 1, step);
    }
  }

  #step({ batches, union, first }: BatchGroup, number: number, { values }: Pulled): StepResult | undefined {
    const batch = batches[number]!;
    if (batch.records === 0) return undefined;
    const { model, gradientCheck, pushEvery } = this.#options;
    const { pass, task } = this.#progress;
    const computed = stepInUnion(model, batch, values, union, number, { pass, task, batch: first + number });
    // Any number of steps that are summed up later does not fit into kernel memory.
    const step = pushEvery === 1 ? computed : ordinaryStep(model, computed);
    return { ...step, metrics: gradientCheck.metricsOf(step.metrics) };
  }

  #free(contributions: readonly Contribution[]): void {
    for (const { step } of contributions) if (step !== undefined) freeStep(this.#options.model, step);
  }

  async #push(b: number, last: boolean, step: StepResult | undefined): Promise<void> {
    const { activity, batchSize, pushEvery, model, router, client, signal, pulls, gated, gradientCheck } =
      this.#options;
    const { pass, task, records } = this.#progress;
    const push = Math.floor(b / pushEvery);
    const end = Math.min((b + 1) * batchSize, records.records);
    const gradients = accumulateGradients(router, model, this.#contributions);
    gradientCheck.check(gradients, () => records.describe(push * pushEvery * batchSize, end));
    activity.enter('push');
    await this.#pushes.room();
    const contributions = this.#contributions.splice(0);
    const count = contributions.reduce((sum, { batch }) => sum + batch.records, 0);
    const used = oldestVersions(contributions);
    const header = { pass, task, push, last, good: records.goodBefore(end), used };
    const next = gated ? undefined : pulls.takeAlong();
    const pushing = client.push(header, gradients, signal, next?.group.union.ids);
    // However the push ends, no request reads the gradients afterwards.
    pushing.then(
      ({ pulled }) => {
        this.#free(contributions);
        if (pulled === undefined) next?.failed();
        else next?.arrived(pulled);
      },
      () => {
        this.#free(contributions);
        next?.failed();
      },
    );
    this.#pushes.send(pushing, ({ duplicate, recovery }) => {
      // Among several pushes in flight, only the last one reports the recovery number under which the task is closed.
      if (last) this.#progress.recovery = recovery;
      if (duplicate) this.#progress.duplicate += count;
      activity.position(this.#progress, push + 1);
      failPoint('trainer.pushed');
    });
    this.#progress.read += count;
    activity.trained(count, step?.metrics);
  }
}

/** The push to continue from: the one that a ledger wants, or the stale one, to be computed from fresh values. */
export function pushToRepeat(error: unknown): number | undefined {
  if (!isPaddletError(error, 'PushOutOfOrder', 'TooStale')) return undefined;
  const push = error.code === 'TooStale' ? error.details.push : error.details.want;
  return typeof push === 'number' ? push : undefined;
}
