/**
 * The work of a trainer in mode sync: all rounds, then the tasks of the evaluation; and rounds again, when the pservers were
 * set back meanwhile.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { PserverGroup } from '../../../cluster/client/pserver-group.ts';
import { createVersionClient } from '../../../cluster/client/version-client.ts';
import { refuseTooManyBad } from '../tasks/dealt-task.ts';
import { runTasks, type TaskLoopOptions } from '../tasks/loop.ts';
import { openTaskFiles } from '../tasks/task-files.ts';
import { followLaneAssignment } from './lane-assignment.ts';
import { createLaneReader } from './lane-reader.ts';
import { loadRoundPlan } from './load-round-plan.ts';
import { runRounds } from './loop.ts';

const REQUEST_TIMEOUT_MS = 30_000;

export interface SyncModeOptions extends TaskLoopOptions {
  readonly group: PserverGroup;
  readonly isDraining: () => boolean;
  readonly onEnd: (error: Error) => void;
}

/** Ends by an interruption only: when the job has ended or the trainer is to. */
export async function runSyncMode(options: SyncModeOptions): Promise<never> {
  const { context, record, model, place, master, over, group, router } = options;
  const { shards } = record.job.cluster;
  const ended = new AbortController();
  const lanes = followLaneAssignment({
    ...options,
    clock: options.context.host.clock,
    over: AbortSignal.any([over, ended.signal]),
  });
  const files = openTaskFiles(place, record, model);
  const client = createVersionClient({ spec: model.parameters, shards, group, router });
  try {
    const plan = await loadRoundPlan(master, record, over);
    const reader = createLaneReader(plan, async (task) => {
      const header = { type: 'getChunks' as const, job: record.id, batchPlanId: record.batchPlanId, task };
      const reply = await master.request({ header }, { timeoutMs: REQUEST_TIMEOUT_MS, signal: over });
      reply.free();
      const records = await files.read(reply.header);
      refuseTooManyBad(records, record.job.data.maxBadRecords);
      for (const bad of records.bad) context.host.log.warn(`bad record: ${bad.file}:${bad.line}: ${bad.reason}`);
      return records;
    });
    for (;;) {
      await runRounds({ ...options, plan, reader, client, lanes });
      const resumed = new AbortController();
      const waiting = AbortSignal.any([over, resumed.signal]);
      const again = lanes.changed.until(() => (lanes.isOver() ? undefined : true), over).then(() => resumed.abort());
      again.catch(() => {});
      try {
        await runTasks({ ...options, over: waiting });
        // Evaluated; the result is about to be published, unless the pservers are set back now.
        await again;
      } catch (error) {
        if (over.aborted || !isPaddletError(error, 'Interrupted')) throw error;
      }
    }
  } finally {
    ended.abort();
    await files.close();
  }
}
