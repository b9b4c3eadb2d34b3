/**
 * The end of a job whose passes are over and whose discarded tasks are closed everywhere: final checkpoints
 * published, the records accounted for from the shards' ledgers, the digests, and the result.
 */
import { assert } from '../../../base/assert.ts';
import { LIMITS } from '../../../base/limits.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { JobResult } from '../../../cluster/job/job-result.ts';
import type { TaskQueue } from '../../../core/tasks/events.ts';
import { type DiscardedTask, totalSums } from '../../../core/tasks/state.ts';
import type { Model } from '../../../model/model.ts';
import { trainedSpec } from '../../../tensor/optimizer.ts';
import { digestModel } from '../digest.ts';
import { checkAccount, makeResult, takeAccounts } from '../result.ts';
import type { ConcludeOptions } from '../training.ts';
import type { TaskService } from './service.ts';

export interface ConcludeTasksOptions extends ConcludeOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly model: Model;
  readonly group: PserverGroup;
  readonly service: TaskService;
  /** What the replays of tasks read, and pushed in vain. */
  readonly replayed: { readonly read: number; readonly duplicate: number };
  /** The recovery number under which all tasks are done. */
  readonly recovery: number;
}

/** A checkpoint of many gigabytes takes its time. */
const CHECKPOINT_TIMEOUT_MS = 3_600_000;

export async function conclude(options: ConcludeTasksOptions): Promise<JobResult> {
  const { record, group, model, stopSignal, passes } = options;
  const checkpoints = await group.withPlacement(
    'final checkpoint',
    (placement) =>
      allSettledOrThrow(
        placement.pservers.map(async (pserver) => {
          const reply = await group.ask(
            pserver,
            'checkpoint',
            { final: true, recovery: options.recovery, passes: options.passes },
            [],
            CHECKPOINT_TIMEOUT_MS,
          );
          reply.free();
          const { saved } = reply.header;
          assert(saved !== undefined, 'a final checkpoint is never one that was running already');
          return { index: pserver.index, ...saved };
        }),
      ),
    stopSignal,
  );
  const accounts = await takeAccounts(group, stopSignal);
  const digests = await digestModel(group, {
    spec: trainedSpec(model.parameters, record.job),
    shards: record.job.cluster.shards,
    signal: stopSignal,
  });
  // The pserver that applied least decides: a record counts once every shard has it.
  const { applied, discarded } = accounts.reduce((least, one) => (one.applied < least.applied ? one : least));
  const { ended } = options.service.queue.totals();
  const sums = totalSums(ended.map((totals) => totals.sums));
  const { staleness } = record.job.training;
  const lost = passes * record.train.records - applied - sums.bad - discarded;
  const { replayed } = options;
  const read = sums.read + replayed.read;
  const duplicate = sums.duplicate + replayed.duplicate;
  const records = { read, applied, duplicate, bad: sums.bad, discarded, lost };
  checkAccount(accounts, passes * record.train.records, records);
  return makeResult(options, {
    accounts,
    tasks: {
      total: passes * record.train.tasks,
      done: ended.reduce((sum, totals) => sum + totals.done, 0),
      discarded: ended.reduce((sum, totals) => sum + totals.discarded, 0),
    },
    records,
    train: ended.at(-1)?.sums.metrics,
    ...(staleness === undefined ? {} : { staleness: mergedStaleness(accounts.map((one) => one.staleness)) }),
    ...digests,
    checkpoints,
  });
}

/**
 * Each discarded task in the pass it was discarded in and in all after it, where it was left out. Of passes that may
 * not be trained yet nothing is closed: a job that ends before them would count their records.
 */
export async function closeDiscarded(
  group: PserverGroup,
  queue: Pick<TaskQueue, 'until'>,
  discarded: readonly DiscardedTask[],
  signal: AbortSignal,
): Promise<void> {
  if (discarded.length === 0) return;
  const passes = queue.until();
  const tasks = discarded.flatMap(({ task, pass, records }) =>
    Array.from({ length: passes - pass }, (_, i) => ({ pass: pass + i, task, records })),
  );
  for (let first = 0; first < tasks.length; first += LIMITS.closedTasksAtOnce) {
    const some = tasks.slice(first, first + LIMITS.closedTasksAtOnce);
    await group.withPlacement(
      'closing discarded tasks',
      (placement) =>
        allSettledOrThrow(
          placement.pservers.map(async (pserver) => (await group.ask(pserver, 'closeTasks', { tasks: some })).free()),
        ),
      signal,
    );
  }
}

function mergedStaleness(counts: readonly { counted: number; sum: number; max: number; refused: number }[]) {
  const total = (pick: (one: (typeof counts)[number]) => number): number =>
    counts.reduce((sum, one) => sum + pick(one), 0);
  const mean =
    total((one) => one.sum) /
    Math.max(
      1,
      total((one) => one.counted),
    );
  return {
    mean: Math.round(100 * mean) / 100,
    max: Math.max(...counts.map((one) => one.max)),
    refused: total((one) => one.refused),
  };
}
