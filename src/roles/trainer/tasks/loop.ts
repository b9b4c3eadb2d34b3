/**
 * Asks the master for tasks and processes them one after the other. While one is computed, those after it are read and
 * their first values are pulled, and those before it are finished: their last pushes are acknowledged, and the master
 * gets a report. An error of a task is reported for its attempt; only an error of the whole job, or a stop, ends the
 * loop.
 */
import { failPoint } from '../../../base/fail-points.ts';
import { LIMITS } from '../../../base/limits.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import { LONG_POLL_MS } from '../../../cluster/client/master-client.ts';
import { createSignal, pauseOrAborted } from '../../../cluster/waiting.ts';
import type { DealtTask } from '../../../protocol/messages/all-messages.ts';
import { SAVE_BUSY_MS } from '../model/model-saver.ts';
import { addressOf, type HeldTask, TaskReading } from './dealt-task.ts';
import { EndReports } from './end-reports.ts';
import { evaluateTask } from './evaluate-task.ts';
import type { TaskLoopOptions } from './loop-options.ts';
import { reportFailure, returned } from './report-end.ts';
import { RepeatTask, TaskTrainer } from './task-trainer.ts';

/** Maximum number of tasks whose last pushes or reports are in flight: these, or more of short ones. */
const FINISHING = 3;
const MOST_FINISHING = 10;
/**
 * Tasks that are read ahead, and those that are being finished: as many as take this time together, so that neither a
 * hand-out is waited for, nor the master's writing of a report.
 */
const AHEAD_MS = 40;
/** Leaves a place for the task that is being computed. */
const MOST_AHEAD = LIMITS.tasksHeld - MOST_FINISHING - 1;
const NEVER = new AbortController().signal;

export async function runTasks(options: TaskLoopOptions): Promise<void> {
  const loop = new TaskLoop(options);
  try {
    await loop.run();
  } finally {
    await loop.close();
  }
}

class TaskLoop {
  readonly #options: TaskLoopOptions;
  readonly #ends: EndReports;
  readonly #trainer: TaskTrainer;
  readonly #reading: TaskReading;
  readonly #held: HeldTask[] = [];
  /** Tasks that come next. */
  readonly #upcoming: HeldTask[] = [];
  #isFetching = false;
  /** The job needs no more work. */
  #isDone = false;
  /** How long the last one took. */
  #taskMs = Number.POSITIVE_INFINITY;
  /** Tasks that are to be run once more. */
  readonly #again: HeldTask[] = [];
  readonly #finishing = new Set<HeldTask>();
  #failure: { readonly error: unknown } | undefined;
  /** One of these has changed. */
  readonly #changed = createSignal();
  readonly #fetching = new AbortController();
  readonly #fetchSignal: AbortSignal;

  constructor(options: TaskLoopOptions) {
    this.#options = options;
    const { clock } = options.context.host;
    const mayWait = (): boolean => this.#upcoming.length > 0 && this.#hasRoom;
    this.#ends = new EndReports({ ...options, clock, mayWait });
    this.#trainer = new TaskTrainer(options, this.#ends);
    this.#reading = new TaskReading(options);
    this.#fetchSignal = AbortSignal.any([options.stopSignal, this.#fetching.signal]);
  }

  async run(): Promise<void> {
    this.#fetch();
    for (;;) {
      const task = await this.#changed.until(() => this.#next(), NEVER);
      if (task === 'none') return;
      await this.#work(task);
      if (!this.#hasRoom) this.#ends.flush();
      await this.#changed.until(() => this.#hasRoom || undefined, NEVER);
    }
  }

  /**
   * On leaving: unfinished tasks go to other trainers at once, before this trainer's lease ends. Of those that are done
   * the master has their ends first, and refuses that they are given back.
   */
  async close(): Promise<void> {
    this.#fetching.abort();
    const { isEnded, master } = this.#options;
    const ends = this.#ends.close();
    const messages = isEnded() ? [] : [ends, ...this.#held.map((task) => returned(this.#options, task))];
    await Promise.all([this.#reading.close(), ...messages.map((message) => message && master.tell(message))]);
  }

  /** Throws what has failed and is not a failure of a task. */
  #next(): HeldTask | 'none' | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    const again = this.#again.shift();
    if (again !== undefined) return again;
    const task = this.#upcoming.shift();
    if (task === undefined) this.#ends.flush();
    if (task === undefined && this.#isDone && this.#finishing.size === 0) return 'none';
    this.#fetch();
    return task;
  }

  /** Asks for tasks when fewer than half of those to be read ahead are left. Reports finished tasks first. */
  #fetch(): void {
    const ahead = this.#ahead();
    if (this.#isFetching || this.#isDone || this.#upcoming.length > (ahead - 1) / 2) return;
    this.#isFetching = true;
    this.#ends.flush();
    this.#nextTasks(ahead - this.#upcoming.length).then(
      () => {
        this.#isFetching = false;
        this.#fetch();
        this.#changed.notify();
      },
      (error: unknown) => this.#failed(error),
    );
  }

  #ahead(): number {
    return Math.min(MOST_AHEAD, Math.max(this.#options.threads?.ahead ?? 1, this.#together));
  }

  /** For one more task that is being finished. */
  get #hasRoom(): boolean {
    return this.#finishing.size < Math.min(MOST_FINISHING, Math.max(FINISHING, this.#together));
  }

  /** Tasks that take `AHEAD_MS` together. */
  get #together(): number {
    return Math.floor(AHEAD_MS / Math.max(1, this.#taskMs));
  }

  async #nextTasks(most: number): Promise<void> {
    const all = await askForTasks(this.#options, { held: this.#held, most, signal: this.#fetchSignal });
    if (all === undefined) {
      this.#isDone = true;
      return;
    }
    for (const dealt of all) {
      failPoint('trainer.dealt');
      const task = this.#reading.begin(dealt);
      this.#held.push(task);
      this.#upcoming.push(task);
      if (dealt.queue !== 'evaluate') this.#trainer.prepare(task);
    }
  }

  #failed(error: unknown): void {
    this.#failure ??= { error };
    this.#changed.notify();
  }

  async #work(task: HeldTask): Promise<void> {
    const { activity, report, context } = this.#options;
    const { clock } = context.host;
    const beganMs = clock.monotonicMs();
    activity.begin(addressOf(task.dealt), task.stopping);
    report();
    try {
      activity.enter('read');
      await task.records;
      if (task.dealt.queue === 'evaluate') {
        await evaluate(this.#options, task);
        await this.#done(task);
        return;
      }
      await this.#trainer.run(task);
      this.#finishing.add(task);
      this.#finish(task).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      await this.#ended(task, error);
    } finally {
      activity.end();
      this.#taskMs = clock.monotonicMs() - beganMs;
    }
  }

  async #finish(task: HeldTask): Promise<void> {
    try {
      await this.#trainer.finish(task);
      await this.#done(task);
    } catch (error) {
      await this.#ended(task, error);
    } finally {
      this.#finishing.delete(task);
      this.#changed.notify();
    }
  }

  /** The try has ended without the task being done. Throws what is not a failure of the task. */
  async #ended(task: HeldTask, error: unknown): Promise<void> {
    if (error instanceof RepeatTask) {
      this.#again.push(task);
      this.#changed.notify();
      return;
    }
    await reportFailure(this.#options, task, error);
    this.#drop(task);
  }

  /** Requests of a try that has failed may still read its records, but none of a task that is done. */
  async #done(task: HeldTask): Promise<void> {
    this.#drop(task);
    (await task.records).release?.();
  }

  #drop(task: HeldTask): void {
    this.#trainer.forget(task);
    this.#held.splice(this.#held.indexOf(task), 1);
  }
}

interface Wanted {
  readonly held: readonly HeldTask[];
  readonly most: number;
  readonly signal: AbortSignal;
}

/** Undefined when the job needs no more work. */
async function askForTasks(
  options: TaskLoopOptions,
  { held, most, signal }: Wanted,
): Promise<readonly DealtTask[] | undefined> {
  const { master, record, id } = options;
  for (;;) {
    const reply = await master.request(
      {
        header: {
          type: 'getTasks',
          ...jobFields(record),
          trainer: id,
          held: held.map(({ dealt }) => addressOf(dealt)),
          most,
          maxWaitMs: LONG_POLL_MS,
        },
      },
      { signal },
    );
    reply.free();
    const { state, tasks, saveModel } = reply.header;
    const isAccepted = saveModel !== true || options.onSaveWanted();
    if (state === 'finished') return undefined;
    if (tasks !== undefined) return tasks;
    // While no trainer saves a wanted model, the master answers at once.
    if (!isAccepted) await pauseOrAborted(options.context.host.clock, SAVE_BUSY_MS, signal);
  }
}

const NONE = new Float32Array(0);

async function evaluate(options: TaskLoopOptions, { dealt, records, signal }: HeldTask): Promise<void> {
  const { master, record, id, model, client, activity } = options;
  activity.enter('compute');
  const parsed = await records;
  const { metrics, ...scored } = await evaluateTask(model, client, parsed, signal);
  activity.enter('wait');
  const header = {
    type: 'finishEvaluation' as const,
    ...jobFields(record),
    trainer: id,
    ...addressOf(dealt),
    bad: parsed.bad.length,
    metrics,
  };
  const { scores, labels, weights = NONE, groups = NONE } = scored;
  const segments = [scores, labels, weights, groups].map(({ buffer }) => new Uint8Array(buffer));
  (await master.request({ header, segments }, { signal })).free();
}
