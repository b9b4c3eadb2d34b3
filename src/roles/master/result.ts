/** The result of a job, as both modes make it, and the record accounting of the pservers that it rests on. */
import type { WarmPlan } from '../../checkpoint/load/warm-plan.ts';
import { allSettledOrThrow, type PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { elapsedSeconds, type JobRecord } from '../../cluster/job/job-record.ts';
import type { JobResult } from '../../cluster/job/job-result.ts';
import { finishMetrics } from '../../model/metrics.ts';
import type { MetricSums, Model } from '../../model/model.ts';
import type { ReplyHeader } from '../../protocol/messages/all-messages.ts';
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

interface ResultOptions extends Pick<ConcludeOptions, 'testMetrics' | 'recordsPerSecond'> {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly model: Model;
}

/** What differs between the modes, and what was made of the model. */
export interface ModeResult
  extends Pick<JobResult, 'tasks' | 'records' | 'staleness' | 'modelDigest' | 'stateDigest' | 'checkpoints'> {
  /** Of the last pass. */
  readonly train: MetricSums | undefined;
}

export function makeResult(options: ResultOptions, ofMode: ModeResult): JobResult {
  const { context, record, model, testMetrics } = options;
  const { tasks, records, staleness, modelDigest, stateDigest, checkpoints } = ofMode;
  const none = new Float32Array(0);
  const train = ofMode.train && finishMetrics(model.task, ofMode.train, none, none);
  return {
    job: record.job.name,
    mode: record.job.training.mode,
    passes: record.job.training.passes,
    tasks,
    records,
    metrics: { ...(train && { train }), ...(testMetrics && { test: testMetrics }) },
    ...(staleness === undefined ? {} : { staleness }),
    ...(record.warmStart === undefined ? {} : { warmStart: shownWarmStart(record.warmStart) }),
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
  loaded: loaded.map(({ name, rows, bytes }) => ({ name, rows, bytes })),
});
