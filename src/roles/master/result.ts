/** The result of a job, as both modes make it, and the record accounting of the pservers that it rests on. */
import { PaddletError } from '../../base/errors.ts';
import type { WarmPlan } from '../../checkpoint/load/warm-plan.ts';
import { allSettledOrThrow, type PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { elapsedSeconds, type JobRecord } from '../../cluster/job/job-record.ts';
import type { JobResult } from '../../cluster/job/job-result.ts';
import { finishMetrics } from '../../model/metrics.ts';
import type { MetricSums, Model } from '../../model/model.ts';
import type { ReplyHeader } from '../../protocol/messages/all-messages.ts';
import { summedTables } from '../../protocol/messages/table-report.ts';
import type { ConcludeOptions } from './training.ts';

export type PserverAccount = Extract<ReplyHeader, { type: 'account' }>;

export async function takeAccounts(group: PserverGroup, signal: AbortSignal): Promise<PserverAccount[]> {
  return group.withPlacement(
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
}

/**
 * Throws `WrongCounts` when the account does not add up: then a trainer lied about records, or counted other data.
 * Every pserver has the same records, applied or discarded.
 */
export function checkAccount(
  accounts: readonly Pick<PserverAccount, 'applied' | 'discarded'>[],
  indexed: number,
  { applied, bad, discarded, lost }: JobResult['records'],
): void {
  const sums = accounts.map((one) => one.applied + one.discarded);
  if (new Set(sums).size > 1) {
    const each = sums.map((sum, index) => `${sum} at pserver ${index}`).join(', ');
    throw wrongAccount(`the pservers count different records, applied or discarded: ${each}`);
  }
  if (lost === 0) return;
  const all = `${applied} applied, ${bad} bad and ${discarded} discarded records`;
  const much = lost > 0 ? `${lost} are missing` : `${-lost} more than the job has`;
  throw wrongAccount(`${all} are not the ${indexed} of the job: ${much}`);
}

const wrongAccount = (why: string): PaddletError =>
  new PaddletError('WrongCounts', `the record counts do not add up: ${why}`, {
    hint: 'a trainer reported different counts than it pushed; the last checkpoints contain the parameters',
  });

interface ResultOptions extends Pick<ConcludeOptions, 'passes' | 'evaluation' | 'testMetrics' | 'recordsPerSecond'> {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly model: Model;
}

/** What differs between the modes, and what was made of the model. */
export interface ModeResult
  extends Pick<JobResult, 'tasks' | 'records' | 'staleness' | 'modelDigest' | 'stateDigest' | 'checkpoints'> {
  readonly accounts: readonly PserverAccount[];
  /** Sums of the last pass. */
  readonly train: MetricSums | undefined;
}

export function makeResult(options: ResultOptions, ofMode: ModeResult): JobResult {
  const { context, record, model, passes, evaluation, testMetrics } = options;
  const { tasks, records, staleness, modelDigest, stateDigest, checkpoints } = ofMode;
  const tables = summedTables(ofMode.accounts.map((account) => account.tables ?? []));
  const train = ofMode.train && finishMetrics(model.task, ofMode.train, {});
  return {
    job: record.job.name,
    mode: record.job.training.mode,
    passes,
    tasks,
    records,
    metrics: { ...(train && { train }), ...(testMetrics && { test: testMetrics }) },
    ...(evaluation === undefined ? {} : { evaluation }),
    ...(staleness === undefined ? {} : { staleness }),
    ...(record.warmStart === undefined ? {} : { warmStart: shownWarmStart(record.warmStart) }),
    ...(tables.length === 0 ? {} : { tables }),
    modelDigest,
    stateDigest,
    recordsPerSecond: options.recordsPerSecond,
    elapsedSeconds: elapsedSeconds(record, context.host.clock.wallSeconds()),
    checkpoints,
  };
}

const shownWarmStart = ({ from, job, loaded }: WarmPlan): JobResult['warmStart'] => ({
  from,
  job,
  loaded: loaded.map(({ name, kind, rows, bytes }) => ({ name, kind, rows, bytes })),
});
