/**
 * The work of a trainer in sync mode: all rounds, then the evaluation tasks; rounds again when the pservers are set
 * back.
 */
import { isPaddletError } from '../../../base/errors.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { PserverGroup } from '../../../cluster/client/pserver-group.ts';
import { createVersionClient } from '../../../cluster/client/version-client.ts';
import { refuseTooManyBad } from '../../../data/bad-records.ts';
import type { TaskRecords } from '../../../data/source.ts';
import { runTasks } from '../tasks/loop.ts';
import type { TaskLoopOptions } from '../tasks/loop-options.ts';
import { passOrderOf } from '../tasks/pass-order.ts';
import { openTaskFiles, type TaskFiles } from '../tasks/task-files.ts';
import { followLaneAssignment, type LaneAssignment } from './lane-assignment.ts';
import { createLaneReader } from './lane-reader.ts';
import { loadRoundPlan } from './load-round-plan.ts';
import { runRounds } from './loop.ts';

const CHUNKS_TIMEOUT_MS = 30_000;

export interface SyncModeOptions extends TaskLoopOptions {
  readonly group: PserverGroup;
  /** True on a stop of this trainer or of the whole job. */
  readonly isDraining: () => boolean;
  readonly onFatal: (error: Error) => void;
}

/** Ends with `Interrupted` only: when the job has ended or the trainer is to stop. */
export async function runSyncMode(options: SyncModeOptions): Promise<never> {
  const { context, record, model, place, cache, threads, master, stopSignal, group, router } = options;
  const { shards } = record.job.cluster;
  const left = new AbortController();
  const lanes = followLaneAssignment({
    ...options,
    clock: context.host.clock,
    stopSignal: AbortSignal.any([stopSignal, left.signal]),
  });
  const { batchSize } = record.job.training;
  const files = openTaskFiles(place, record, model, {
    batchSize,
    part: 'train',
    cache,
    threads,
    times: options.activity.times,
  });
  const client = createVersionClient({ spec: model.parameters, shards, group, router, memory: model.memory });
  try {
    const plan = await loadRoundPlan(master, record, stopSignal);
    const reader = createLaneReader(plan, (task) => readTask(options, files, task), passOrderOf(record));
    for (;;) {
      await runRounds({ ...options, plan, reader, client, lanes });
      await evaluateUntilSetBack(options, lanes);
    }
  } finally {
    left.abort();
    await files.close();
  }
}

async function readTask(options: SyncModeOptions, files: TaskFiles, task: number): Promise<TaskRecords> {
  const { record, master, stopSignal, badRecords } = options;
  const header = { type: 'getChunks' as const, ...jobFields(record), task };
  const reply = await master.request({ header }, { timeoutMs: CHUNKS_TIMEOUT_MS, signal: stopSignal });
  reply.free();
  const records = await files.read(reply.header);
  await badRecords.list({ set: 'train', task, bad: records.bad });
  refuseTooManyBad(records, record.job.data);
  return records;
}

/** Returns when rounds have to be computed again; throws `Interrupted` when the trainer is to end. */
async function evaluateUntilSetBack(options: SyncModeOptions, lanes: LaneAssignment): Promise<void> {
  const { stopSignal } = options;
  const setBack = new AbortController();
  const isSetBack = lanes.changed
    .until(() => (lanes.isDone() ? undefined : true), stopSignal)
    .then(() => setBack.abort());
  isSetBack.catch(() => {});
  try {
    await runTasks({ ...options, stopSignal: AbortSignal.any([stopSignal, setBack.signal]) });
    // Evaluated: the master is about to publish the result, unless the pservers are set back now.
    await isSetBack;
  } catch (error) {
    if (stopSignal.aborted || !isPaddletError(error, 'Interrupted')) throw error;
  }
}
