/**
 * After a pserver was restored from a checkpoint: finds the tasks that are done but not closed in every shard, from
 * the ledgers themselves, and has them replayed, whatever their pass. The restored shards apply them, the others drop
 * them as duplicates (docs/modes.md, "Recovery"). A long job has more of them than fit into memory, so they are
 * found and replayed in slices of passes. Only the recovery number that has been reconciled is saved, and what was read
 * for it: another master finds what is left again.
 *
 * The end of a task is what its trainer says. So the ledgers are asked once more after each replay, and before the job
 * is concluded: a task that was reported without being pushed is replayed as well.
 */
import * as z from 'zod';
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { RecoveryView } from '../../../cluster/placement/recovery.ts';
import { abortOnChange, orAborted, unlessStopped } from '../../../cluster/waiting.ts';
import { type PassTask, repairTasks } from '../../../core/tasks/address.ts';
import { createTaskQueue } from '../../../core/tasks/queue.ts';
import { type DiscardedTask, noSums, totalSums } from '../../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';
import { closeDiscarded } from './conclude.ts';
import { type FindUnclosed, findUnclosed, type UnclosedTasks } from './find-unclosed.ts';
import { createTaskService, type TaskService } from './service.ts';

/** Tasks that are replayed together. */
export interface RepairBatch {
  readonly service: TaskService;
  readonly tasks: readonly PassTask[];
}

export interface Repairs {
  batch(): RepairBatch | undefined;
  /** The highest recovery number whose losses have been repaired. */
  reconciled(): number;
  /**
   * Returns when every task that is done is closed in every shard, after replays where that is needed; or when a
   * pserver was restored in the meantime.
   */
  check(): Promise<void>;
  /** What trainers read and pushed in vain in all replays. */
  sums(): RepairSums;
  readonly cancel: Cancel;
}

/** The value of `/tasks/reconciled`. */
export const reconciledSchema = z.strictObject({
  number: z.int().min(0),
  read: z.int().min(0),
  duplicate: z.int().min(0),
});
export type Reconciled = z.infer<typeof reconciledSchema>;
export type RepairSums = Omit<Reconciled, 'number'>;

/** If tasks are still not closed after this many replays, the trainer that reports them does not push them. */
const MOST_REPLAYS = 5;

export interface RepairsOptions extends FindUnclosed {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly taskRecords: Uint32Array;
  readonly describeTask: (task: number) => string;
  readonly recoveries: RecoveryView;
  /** A slice ends after the pass in which this number of tasks is found. */
  readonly enoughTasks?: number;
  /** Live trainers, for a new batch. */
  readonly roster: () => readonly string[];
  readonly reconciled: Reconciled;
  readonly isHeld: () => boolean;
  readonly onFailed: (discarded: DiscardedTask) => void;
  readonly onFatal: (error: unknown) => void;
  /** A batch began or ended, or a number is reconciled. */
  readonly onChanged: () => void;
}

export function startRepairs(options: RepairsOptions): Repairs {
  const repairs = new RepairLoop(options);
  repairs.run().catch(unlessStopped(options.stopSignal, options.onFatal));
  return {
    batch: () => repairs.batch,
    reconciled: () => repairs.reconciled,
    check: () => repairs.check(),
    sums: () => repairs.sums,
    cancel: () => repairs.batch?.service.close(),
  };
}

class RepairLoop {
  batch: RepairBatch | undefined;
  reconciled: number;
  sums: RepairSums;
  readonly #options: RepairsOptions;
  /** One repair at a time. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: RepairsOptions) {
    this.#options = options;
    const { number, ...sums } = options.reconciled;
    this.reconciled = number;
    this.sums = sums;
  }

  check(): Promise<void> {
    return this.#inTurn(() => this.#repair(this.#options.recoveries.current()?.number ?? 0));
  }

  async run(): Promise<never> {
    const { recoveries, stopSignal, onChanged } = this.#options;
    for (;;) {
      const number = await recoveries.changed.until(() => {
        const now = recoveries.current()?.number ?? 0;
        return now > this.reconciled ? now : undefined;
      }, stopSignal);
      await this.#inTurn(() => this.#repair(number));
      onChanged();
    }
  }

  #inTurn(repair: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(repair);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  async #repair(number: number): Promise<void> {
    const { context, group, training, stopSignal } = this.#options;
    await closeDiscarded(group, training.queue, training.queue.discarded(), stopSignal);
    let repaired = 0;
    for (let replays = 0; ; replays++) {
      const replayed = await this.#replayUnclosed(number, replays);
      if (this.#isOvertaken(number)) return;
      if (replayed === 0) break;
      repaired += replayed;
    }
    failPoint('repair.done');
    if (repaired === 0 && number <= this.reconciled) return;
    await this.#save(number);
    context.host.log.info(`recovery ${number}: all shards have every task that is done`, { repaired });
    this.reconciled = number;
  }

  async #save(number: number): Promise<void> {
    const { context, fence, stopSignal } = this.#options;
    const value = JSON.stringify({ number, ...this.sums } satisfies Reconciled);
    const put = { put: context.keys.tasksReconciled, value };
    await retryStore(context, () => fencedTxn(context.store, fence, { then: [put] }), stopSignal);
  }

  /**
   * How many tasks were not closed. Ends early when another pserver was restored in the meantime. Throws `WrongCounts`
   * if some are left after `MOST_REPLAYS` replays.
   */
  async #replayUnclosed(number: number, replays: number): Promise<number> {
    const { enoughTasks = LIMITS.repairedTasks } = this.#options;
    let replayed = 0;
    let from: number | undefined = 0;
    while (from !== undefined) {
      const slice = { pass: from, enough: enoughTasks };
      const { tasks, nextPass }: UnclosedTasks = await findUnclosed(this.#options, number, slice);
      failPoint('repair.found');
      if (tasks.length > 0 && replays === MOST_REPLAYS && !this.#isOvertaken(number)) throw notClosed(tasks.length);
      if (tasks.length > 0) await this.#replay(tasks, number);
      replayed += tasks.length;
      if (this.#isOvertaken(number)) return replayed;
      from = nextPass;
    }
    return replayed;
  }

  #count({ queue }: TaskService): void {
    const { ended, current } = queue.totals();
    const { read, duplicate } = totalSums([{ ...noSums(), ...this.sums }, ...ended.map(({ sums }) => sums), current]);
    this.sums = { read, duplicate };
  }

  /** Another pserver was restored since. */
  #isOvertaken(number: number): boolean {
    return (this.#options.recoveries.current()?.number ?? 0) > number;
  }

  /** Returns when all are closed, or when another pserver was restored in the meantime. */
  async #replay(tasks: readonly PassTask[], number: number): Promise<void> {
    const { context, recoveries, training, roster, stopSignal, onChanged } = this.#options;
    context.host.log.warn(`recovery ${number}: replaying ${tasks.length} tasks that were reported as done`, {
      firstPass: tasks[0]!.pass + 1,
      lastPass: tasks.at(-1)!.pass + 1,
    });
    const ended = Promise.withResolvers<void>();
    const service = openRepairService(this.#options, tasks, ended.resolve);
    this.batch = { service, tasks };
    service.tell({ type: 'roster', trainers: roster() });
    // Trainers that wait for training tasks are to ask again and find these.
    training.release();
    onChanged();
    const overtaken = abortOnChange(recoveries.changed, () => this.#isOvertaken(number), stopSignal);
    try {
      await orAborted(ended.promise, AbortSignal.any([overtaken.signal, stopSignal])).catch((error: unknown) => {
        if (stopSignal.aborted || !overtaken.signal.aborted) throw error;
      });
    } finally {
      overtaken.release();
      this.#count(service);
      this.batch = undefined;
      service.release();
      service.close();
      onChanged();
    }
  }
}

const notClosed = (tasks: number): PaddletError =>
  new PaddletError('WrongCounts', `a shard still lacks ${tasks} finished tasks after ${MOST_REPLAYS} replays`, {
    hint: 'a trainer reports tasks as finished that it did not push: check that every trainer is a paddlet trainer',
  });

function openRepairService(options: RepairsOptions, tasks: readonly PassTask[], onEnded: () => void): TaskService {
  const { context, record, taskRecords, describeTask } = options;
  const queue = createTaskQueue(
    {
      addressing: repairTasks(tasks),
      taskRecords: Uint32Array.from(tasks, ({ task }) => taskRecords[task]!),
      describeTask: (number) => describeTask(tasks[number]!.task),
      passes: 1,
      seed: record.job.training.seed,
      ...record.job.tasks,
      minTrainers: record.job.cluster.minTrainers,
      maxTrainers: record.job.cluster.maxTrainers,
      // A task that was done before and now cannot be: its records would be missing from some shards only.
      maxDiscarded: 0,
    },
    undefined,
    context.host.clock.monotonicMs(),
  );
  return createTaskService({
    context,
    name: 'repair',
    queue,
    pipeline: undefined,
    isHeld: options.isHeld,
    onEnded,
    onFailed: options.onFailed,
    onDiscarded: () => {},
    onPassEnded: () => {},
  });
}
