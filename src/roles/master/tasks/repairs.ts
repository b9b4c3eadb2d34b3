/**
 * After a pserver was restored from a checkpoint: finds the tasks that are done but not closed in every shard, from the
 * ledgers themselves, and has them worked again, whatever their pass. The restored shards apply them, the others drop
 * them as duplicates (DESIGN §5, "Recovery"). Nothing of it is saved but the number that has been reconciled: another
 * master finds the same again.
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Cancel } from '../../../base/seams.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';
import type { RecoveryView } from '../../../cluster/placement/recovery.ts';
import { createSignal, type Signal } from '../../../cluster/waiting.ts';
import { bitmapFromText } from '../../../core/bitmap.ts';
import { createTaskQueue } from '../../../core/tasks/queue.ts';
import type { DiscardedTask } from '../../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';
import { closeDiscarded } from './conclude.ts';
import { createTaskService, type TaskService } from './service.ts';

export interface PassTask {
  readonly pass: number;
  readonly task: number;
}

/** Tasks being worked again. The desk knows them by their number in `items`. */
export interface RepairBatch {
  readonly desk: TaskService;
  readonly items: readonly PassTask[];
  itemOf(ref: PassTask): number | undefined;
}

export interface Repairs {
  round(): RepairBatch | undefined;
  /** The highest recovery number whose losses have been repaired. */
  reconciled(): number;
  readonly cancel: Cancel;
}

export interface RepairsOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly fence: Fence;
  readonly group: PserverGroup;
  readonly training: TaskService;
  readonly taskRecords: Uint32Array;
  readonly describeTask: (task: number) => string;
  readonly recoveries: RecoveryView;
  /** Live trainers, for a new desk. */
  readonly roster: () => readonly string[];
  readonly reconciled: number;
  readonly over: AbortSignal;
  readonly isHeld: () => boolean;
  readonly onFailed: (discarded: DiscardedTask) => void;
  readonly onEnd: (error: unknown) => void;
  /** A round began or ended, or a number is reconciled. */
  readonly onChanged: () => void;
}

export function startRepairs(options: RepairsOptions): Repairs {
  const { context, recoveries, over } = options;
  const changed = createSignal();
  let round: RepairBatch | undefined;
  let reconciled = options.reconciled;

  async function repair(number: number): Promise<void> {
    const items = await findUnclosed(options, number);
    failPoint('repair.found');
    await closeDiscarded(options.group, options.record, options.training.queue.discarded(), over);
    if (items.length > 0) await workAgain(items, number);
    if ((recoveries.current()?.number ?? 0) > number) return;
    failPoint('repair.done');
    await retryStore(
      context,
      () =>
        fencedTxn(context.store, options.fence, {
          then: [{ put: context.keys.tasksReconciled, value: String(number) }],
        }),
      over,
    );
    context.host.log.info(`recovery ${number}: all shards have every task that is done`, { repaired: items.length });
    reconciled = number;
  }

  /** Returns when all are closed, or when another pserver was restored meanwhile. */
  async function workAgain(items: readonly PassTask[], number: number): Promise<void> {
    context.host.log.warn(`recovery ${number}: ${items.length} tasks that were done are worked again`, {
      firstPass: items[0]!.pass + 1,
      lastPass: items.at(-1)!.pass + 1,
    });
    let ended = false;
    const desk = openDesk(options, items, () => {
      ended = true;
      changed.notify();
    });
    const byName = new Map(items.map(({ pass, task }, item) => [`${pass}/${task}`, item]));
    round = { desk, items, itemOf: ({ pass, task }) => byName.get(`${pass}/${task}`) };
    desk.tell({ type: 'roster', trainers: options.roster() });
    // Trainers that wait for training tasks are to ask again and find these.
    options.training.release();
    options.onChanged();
    const stopListening = forward(recoveries, changed, over);
    try {
      await changed.until(() => (ended || (recoveries.current()?.number ?? 0) > number ? true : undefined), over);
    } finally {
      stopListening();
      round = undefined;
      desk.release();
      desk.close();
      options.onChanged();
    }
  }

  const loop = async (): Promise<void> => {
    for (;;) {
      const number = await recoveries.changed.until(() => {
        const now = recoveries.current()?.number ?? 0;
        return now > reconciled ? now : undefined;
      }, over);
      await repair(number);
      options.onChanged();
    }
  };
  loop().catch((error: unknown) => {
    if (!over.aborted || !isPaddletError(error, 'Interrupted')) options.onEnd(error);
  });
  return {
    round: () => round,
    reconciled: () => reconciled,
    cancel: () => round?.desk.close(),
  };
}

/** Wakes those who wait on `to` when the recovery number changes. */
function forward(recoveries: RecoveryView, to: Signal, over: AbortSignal): Cancel {
  const stop = new AbortController();
  const before = recoveries.current()?.number;
  recoveries.changed
    .until(() => (recoveries.current()?.number === before ? undefined : true), AbortSignal.any([over, stop.signal]))
    .then(
      () => to.notify(),
      (error: unknown) => assert(isPaddletError(error, 'Interrupted'), 'waiting ends by an interruption only'),
    );
  return () => stop.abort();
}

function openDesk(options: RepairsOptions, items: readonly PassTask[], onEnded: () => void): TaskService {
  const { context, record, taskRecords, describeTask } = options;
  const queue = createTaskQueue(
    {
      taskRecords: Uint32Array.from(items, ({ task }) => taskRecords[task]!),
      describeTask: (item) => describeTask(items[item]!.task),
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

/** Tasks that the queue holds for done and that some shard lacks, oldest pass first. */
async function findUnclosed(options: RepairsOptions, number: number): Promise<PassTask[]> {
  const { record, group, training, over } = options;
  const { tasks } = record.train;
  return group.withPlacement(
    `recovery ${number}`,
    async (placement) => {
      const found: PassTask[] = [];
      const { pass: current } = training.queue.counts();
      for (let pass = await lowestWatermark(options, placement.pservers, number); pass <= current; pass++) {
        const done = Array.from({ length: tasks }, (_, task) => task).filter((task) =>
          training.queue.isDone(pass, task),
        );
        const answers = await allSettledOrThrow(placement.pservers.map((one) => askClosed(options, one, pass, number)));
        const ledgers = answers.flatMap(({ ledgers }) => ledgers);
        for (const task of done) if (ledgers.some((ledger) => !ledger.has(task))) found.push({ pass, task });
      }
      return found;
    },
    over,
  );
}

async function lowestWatermark(options: RepairsOptions, pservers: readonly PlacedPserver[], number: number) {
  const answers = await allSettledOrThrow(pservers.map((one) => askClosed(options, one, 0, number)));
  return Math.min(...answers.map(({ watermark }) => watermark));
}

async function askClosed({ group, record }: RepairsOptions, pserver: PlacedPserver, pass: number, number: number) {
  if (pass >= record.job.training.passes) return { watermark: pass, ledgers: [] };
  const reply = await group.ask(pserver, 'closed', { pass });
  reply.free();
  const { recovery, watermark, ledgers } = reply.header;
  if (recovery < number) {
    throw new PaddletError('NotReady', `pserver ${pserver.index} has not seen recovery ${number} yet`);
  }
  const bitmaps = ledgers.map((text) => bitmapFromText(text, record.train.tasks));
  return {
    watermark,
    ledgers: bitmaps.map((bitmap) => {
      if (bitmap === undefined)
        throw new PaddletError('BadMessage', `pserver ${pserver.index}: a bitmap of another size`);
      return bitmap;
    }),
  };
}
