/** The records of each lane in each round, planned from the record counts of the tasks, which the master tells once. */
import { PaddletError } from '../../../base/errors.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { createRoundPlan, type RoundPlan } from '../../../core/rounds/plan.ts';

/** The answer has four bytes for each task. */
const PLAN_TIMEOUT_MS = 30_000;

export async function loadRoundPlan(master: MasterClient, record: JobRecord, signal: AbortSignal): Promise<RoundPlan> {
  const { training } = record.job;
  const reply = await master.request(
    { header: { type: 'getPlan', ...jobFields(record) } },
    { timeoutMs: PLAN_TIMEOUT_MS, signal },
  );
  try {
    const taskRecords = tasksIn(reply.segmentCount === 1 ? reply.segment(0) : new Uint8Array(0), record);
    const { batchSize, passes, lanes, seed } = training;
    return createRoundPlan({ taskRecords, batchSize, passes, lanes, seed });
  } finally {
    reply.free();
  }
}

/** Throws `BadMessage` when the counts are not those of the data in `/job`. */
function tasksIn(segment: Uint8Array, { train }: JobRecord): Uint32Array {
  // A copy, since `slice` of a Buffer would be a view of memory that is freed.
  const fits = segment.byteLength === 4 * train.tasks;
  const taskRecords = fits ? new Uint32Array(new Uint8Array(segment).buffer) : new Uint32Array(0);
  const records = taskRecords.reduce((sum, one) => sum + one, 0);
  if (!fits || records !== train.records) {
    throw new PaddletError(
      'BadMessage',
      `getPlan: ${records} records; the job has ${train.records} in ${train.tasks} tasks`,
    );
  }
  return taskRecords;
}
