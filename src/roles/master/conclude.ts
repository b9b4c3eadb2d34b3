/**
 * The end of a job whose passes are over: discarded tasks closed everywhere, final checkpoints published, the account
 * taken from the shards' ledgers, the digests, and the result.
 */
import { assert } from '../../base/assert.ts';
import type { WarmPlan } from '../../checkpoint/warm-plan.ts';
import type { DiscardedTask } from '../../core/task-state.ts';
import { addSums, noSums } from '../../core/task-state.ts';
import { finishMetrics } from '../../model/metrics.ts';
import type { Model } from '../../model/model.ts';
import type { RoleContext } from '../context.ts';
import type { JobRecord } from '../job-record.ts';
import type { JobResult, Metrics } from '../job-result.ts';
import { allSettledOrThrow, type PserverGroup } from '../pserver-group.ts';
import { digestModel } from './digest.ts';
import type { TaskDesk } from './task-desk.ts';

export interface ConcludeOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly model: Model;
  readonly group: PserverGroup;
  readonly desk: TaskDesk;
  readonly testMetrics: Metrics | undefined;
  readonly recordsPerSecond: number;
  /** The recovery number under which all tasks are done. */
  readonly recovery: number;
  readonly over: AbortSignal;
}

/** What one message may name. */
const CLOSED_AT_ONCE = 10_000;

/** A checkpoint of many gigabytes takes its time. */
const CHECKPOINT_TIMEOUT_MS = 3_600_000;

export async function conclude(options: ConcludeOptions): Promise<JobResult> {
  const { record, group, model, over } = options;
  // Those closed as they were discarded may not have heard of it yet; the last checkpoints have all closures.
  await closeDiscarded(group, record, options.desk.queue.discarded(), over);
  const checkpoints = await group.withPlacement(
    'final checkpoint',
    (placement) =>
      allSettledOrThrow(
        placement.pservers.map(async (pserver) => {
          const reply = await group.ask(
            pserver,
            'checkpoint',
            { final: true, recovery: options.recovery },
            [],
            CHECKPOINT_TIMEOUT_MS,
          );
          reply.free();
          const { saved } = reply.header;
          assert(saved !== undefined, 'a final checkpoint is never one that was running already');
          return { index: pserver.index, ...saved };
        }),
      ),
    over,
  );
  const account = await takeAccount(group, over);
  const digests = await digestModel(group, {
    spec: model.parameters,
    shards: record.job.cluster.shards,
    signal: over,
  });
  return makeResult(options, account, { checkpoints, ...digests });
}

/** Each discarded task in the pass it was discarded in and in all after it, where it was left out. */
export async function closeDiscarded(
  group: PserverGroup,
  record: JobRecord,
  discarded: readonly DiscardedTask[],
  signal: AbortSignal,
): Promise<void> {
  if (discarded.length === 0) return;
  const { passes } = record.job.training;
  const tasks = discarded.flatMap(({ task, pass, records }) =>
    Array.from({ length: passes - pass }, (_, i) => ({ pass: pass + i, task, records })),
  );
  for (let first = 0; first < tasks.length; first += CLOSED_AT_ONCE) {
    const some = tasks.slice(first, first + CLOSED_AT_ONCE);
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

interface Account {
  readonly applied: number;
  readonly discarded: number;
  readonly staleness: NonNullable<JobResult['staleness']>;
}

/** Of the pserver that applied least: a record counts when every shard has it. */
async function takeAccount(group: PserverGroup, signal: AbortSignal): Promise<Account> {
  const accounts = await group.withPlacement(
    'account',
    (placement) =>
      allSettledOrThrow(
        placement.pservers.map(async (pserver) => {
          const reply = await group.ask(pserver, 'account', {});
          reply.free();
          return reply.header;
        }),
      ),
    signal,
  );
  const { applied, discarded } = accounts.reduce((least, one) => (one.applied < least.applied ? one : least));
  return { applied, discarded, staleness: mergedStaleness(accounts.map((one) => one.staleness)) };
}

const shownWarmStart = ({ from, job, loaded }: WarmPlan): JobResult['warmStart'] => ({
  from,
  job,
  loaded: loaded.map(({ name, rows, bytes }) => ({ name, rows, bytes })),
});

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

function makeResult(
  options: ConcludeOptions,
  account: Account,
  made: Pick<JobResult, 'modelDigest' | 'stateDigest' | 'checkpoints'>,
): JobResult {
  const { context, record, desk, model, testMetrics } = options;
  const { ended } = desk.queue.totals();
  const sums = ended.map((totals) => totals.sums).reduce(addSums, noSums());
  const passes = record.job.training.passes;
  const { applied, discarded } = account;
  const lost = passes * record.train.records - applied - sums.bad - discarded;
  const lastPass = ended.at(-1)?.sums.metrics;
  const none = new Float32Array(0);
  const train = lastPass && finishMetrics(model.task, lastPass, none, none);
  return {
    job: record.job.name,
    mode: record.job.training.mode,
    passes,
    tasks: {
      total: passes * record.train.tasks,
      done: ended.reduce((sum, totals) => sum + totals.done, 0),
      discarded: ended.reduce((sum, totals) => sum + totals.discarded, 0),
    },
    records: { read: sums.read, applied, duplicate: sums.duplicate, bad: sums.bad, discarded, lost },
    metrics: { ...(train && { train }), ...(testMetrics && { test: testMetrics }) },
    ...(record.job.training.staleness === undefined ? {} : { staleness: account.staleness }),
    ...(record.warmStart === undefined ? {} : { warmStart: shownWarmStart(record.warmStart) }),
    modelDigest: made.modelDigest,
    stateDigest: made.stateDigest,
    recordsPerSecond: options.recordsPerSecond,
    elapsedSeconds: Math.round((context.host.clock.wallSeconds() - record.created) * 1000) / 1000,
    checkpoints: made.checkpoints,
  };
}
