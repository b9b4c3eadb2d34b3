/**
 * A training task from its hand-out to its end: asks the ledgers for its first push, trains it, and tells the master
 * when every pserver has acknowledged the last push. What must be done again, as a pserver wants another push or was
 * restored, is thrown as `RepeatTask`.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { pauseOrAborted, Turns } from '../../../cluster/waiting.ts';
import { addressOf, type HeldTask } from './dealt-task.ts';
import type { EndReports } from './end-reports.ts';
import type { TaskLoopOptions } from './loop-options.ts';
import { PullQueue } from './pull-queue.ts';
import { beginProgress, pushToRepeat, TaskTraining } from './train-task.ts';

/** The task is to be run once more. */
export class RepeatTask {}

/** What is next to be done of a task. */
interface Begun {
  /** Undefined: it is closed everywhere. */
  readonly training: TaskTraining | undefined;
}

export class TaskTrainer {
  readonly #options: TaskLoopOptions;
  readonly #ends: EndReports;
  readonly #pulls: PullQueue;
  readonly #turns: Turns;
  readonly #pullAhead: number;
  readonly #isGated: boolean;
  readonly #begun = new Map<HeldTask, Promise<Begun>>();
  readonly #tries = new Map<HeldTask, number>();
  /** Tasks pull in the order in which they are prepared, whichever of them knows its position first. */
  #prepared = Promise.resolve();

  constructor(options: TaskLoopOptions, ends: EndReports) {
    this.#ends = ends;
    const { client, id, record } = options;
    this.#options = options;
    this.#isGated = record.job.training.staleness?.policy === 'wait';
    this.#pullAhead = record.job.training.pullAhead;
    this.#turns = new Turns(options.context.host.clock);
    this.#pulls = new PullQueue({ client, id, ahead: this.#pullAhead });
  }

  /** The next task: where to begin is asked while the one before it is computed, and its first values are pulled. */
  prepare(task: HeldTask): void {
    if (this.#isGated) return;
    const before = this.#prepared;
    this.#prepared = this.#begin(task, 'last', before).then(
      () => {},
      () => {},
    );
  }

  /** Resolves when all of its pushes are on their way. Throws `RepeatTask`, and what reading or training throws. */
  async run(task: HeldTask): Promise<void> {
    const { activity } = this.#options;
    activity.enter('read');
    await task.records;
    // Waiting for an unreachable pserver does not count as time spent on the task.
    activity.enter('wait');
    const { training } = await (this.#begun.get(task) ?? this.#begin(task, 'first'));
    await this.#repeated(task, async () => await training?.run());
    if (this.#isGated) await this.#finishGated(task, training);
  }

  /**
   * Resolves when the master has taken the task for done. Throws `RepeatTask`, and what a push or the master throws.
   */
  async finish(task: HeldTask): Promise<void> {
    const { training } = await this.#begun.get(task)!;
    await this.#repeated(task, async () => await training?.settled());
    failPoint('trainer.finishing');
    const { records, recovery, read, duplicate, metrics } = task.progress!;
    const sums = { recovery, records: records.records, good: records.goodBefore(records.records) };
    const observed = { bad: records.bad.length, read, duplicate, metrics };
    try {
      await this.#ends.tell({ ...addressOf(task.dealt), ...sums, ...observed });
    } catch (error) {
      // A pserver was restored in the meantime: ask for the positions again.
      if (!isPaddletError(error, 'StaleRecovery')) throw error;
      throw await this.#restored(task);
    }
    failPoint('trainer.finished');
  }

  /** Nothing more is done for the task. */
  forget(task: HeldTask): void {
    this.#begun.get(task)?.then(
      ({ training }) => training?.close(),
      () => {},
    );
    this.#begun.delete(task);
    this.#tries.delete(task);
  }

  #begin(task: HeldTask, where: 'first' | 'last', before?: Promise<void>): Promise<Begun> {
    const begun = this.#ask(task, where, before);
    // Awaited when the task's turn comes.
    begun.catch(() => {});
    this.#begun.set(task, begun);
    return begun;
  }

  async #ask(task: HeldTask, where: 'first' | 'last', before?: Promise<void>): Promise<Begun> {
    const { client } = this.#options;
    const { pass, task: number } = task.dealt;
    const records = await task.records;
    const { next, recovery } = await client.position(pass, number, task.signal);
    task.progress ??= beginProgress(task.dealt, records, recovery);
    task.progress.recovery = recovery;
    await before;
    return { training: next < 0 ? undefined : this.#train(task, next, where) };
  }

  #train(task: HeldTask, firstPush: number, where: 'first' | 'last'): TaskTraining {
    const { batchSize, pushEvery, pullEvery } = this.#options.record.job.training;
    const pulls = { pulls: this.#pulls, turns: this.#turns, pullAhead: this.#pullAhead, gated: this.#isGated };
    const options = { ...this.#options, ...pulls, batchSize, pushEvery, pullEvery, signal: task.signal };
    return new TaskTraining(options, task.progress!, firstPush, where);
  }

  /** Turns what asks for another push into `RepeatTask`. */
  async #repeated(task: HeldTask, train: () => Promise<void>): Promise<void> {
    try {
      await train();
    } catch (error) {
      const again = pushToRepeat(error);
      if (again === undefined) {
        if (this.#isGated) await this.#options.client.releaseHold(this.#options.id);
        throw error;
      }
      this.#begun.set(task, Promise.resolve({ training: this.#train(task, again, 'first') }));
      throw new RepeatTask();
    }
  }

  async #finishGated(task: HeldTask, training: TaskTraining | undefined): Promise<void> {
    await this.#repeated(task, async () => await training?.settled());
    if (training !== undefined) await this.#options.client.releaseHold(this.#options.id);
  }

  async #restored(task: HeldTask): Promise<RepeatTask> {
    const tries = this.#tries.get(task) ?? 0;
    this.#tries.set(task, tries + 1);
    await pauseOrAborted(this.#options.context.host.clock, backoffMs(tries), task.signal);
    this.#begin(task, 'first');
    return new RepeatTask();
  }
}
