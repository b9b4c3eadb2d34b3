/**
 * The end of a job in sync mode: the records accounted for from the ledgers, the digests, and the result. The last
 * cut is its checkpoint.
 */
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { JobResult } from '../../../cluster/job/job-result.ts';
import { passIn } from '../../../core/pass-metrics.ts';
import type { Model } from '../../../model/model.ts';
import { trainedSpec } from '../../../tensor/optimizer.ts';
import { digestModel } from '../digest.ts';
import { checkAccount, makeResult, type PserverAccount, takeAccounts } from '../result.ts';
import type { ConcludeOptions } from '../training.ts';
import type { TakenCut } from './cuts.ts';

export interface ConcludeRoundsOptions extends ConcludeOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly model: Model;
  readonly group: PserverGroup;
  readonly cut: TakenCut;
}

export async function concludeRounds(options: ConcludeRoundsOptions): Promise<JobResult> {
  const { record, group, model, stopSignal, cut, passes } = options;
  const { tasks } = record.train;
  const accounts = await takeAccounts(group, stopSignal);
  const complete = await completePasses(options);
  const digests = await digestModel(group, {
    spec: trainedSpec(model.parameters, record.job),
    shards: record.job.cluster.shards,
    signal: stopSignal,
  });
  const counts = countRecords(accounts, record.train.records, passes);
  checkAccount(accounts, passes * record.train.records, counts.records);
  const checkpoints = cut.files.map(({ index, uuid, md5, bytes }) => ({ index, uuid, md5, bytes }));
  return makeResult(options, {
    accounts,
    tasks: { total: passes * tasks, done: complete * tasks, discarded: 0 },
    records: counts.records,
    train: counts.lastPass,
    ...digests,
    checkpoints,
  });
}

/** Passes of which every shard has closed every task. */
async function completePasses({ group, passes, stopSignal }: ConcludeRoundsOptions): Promise<number> {
  const pass = passes - 1;
  const watermarks = await group.withPlacement(
    'complete passes',
    ({ pservers }) =>
      allSettledOrThrow(
        pservers.map(async (pserver) => {
          const reply = await group.ask(pserver, 'closed', { pass });
          reply.free();
          return reply.header.watermark;
        }),
      ),
    stopSignal,
  );
  return Math.min(...watermarks);
}

/**
 * Bad records are those that the last pass left out, times the passes: the data is the same in each. What else is
 * missing from the ledgers' count is lost.
 */
export function countRecords(accounts: readonly PserverAccount[], indexed: number, passes: number) {
  const applied = Math.min(...accounts.map((one) => one.applied));
  const duplicate = Math.max(...accounts.map((one) => one.rounds?.duplicate ?? 0));
  const lastPass = passIn(accounts[0]?.rounds?.metrics ?? [], passes - 1);
  const bad = lastPass === undefined ? 0 : passes * (indexed - lastPass.records);
  const lost = passes * indexed - applied - bad;
  return { records: { read: applied + bad + duplicate, applied, duplicate, bad, discarded: 0, lost }, lastPass };
}
