/**
 * Why a job makes no progress, from what is seen now: the store, and what each process says of itself. The cause comes
 * before what follows from it: a process that cannot reach the store is not said to be slow. Pure.
 */
import type { JobStatus } from '../describe-job.ts';
import { type Cause, oneLine } from './cause.ts';
import {
  diskCauses,
  fewerCauses,
  missingCauses,
  networkCauses,
  silentCauses,
  storeCauses,
  strangeCauses,
  waitingCauses,
} from './processes.ts';
import {
  barrierCauses,
  failureCauses,
  slowPserverCauses,
  slowTrainerCauses,
  stalenessCauses,
  workCauses,
} from './training.ts';

export type HeldUpJob = Pick<JobStatus, 'record' | 'end' | 'stopRequested' | 'processes' | 'spread'>;

/** Empty when nothing holds the job up. */
export function whyOf(seen: HeldUpJob): Cause[] {
  const { end, stopRequested, processes, record } = seen;
  if (end !== undefined) {
    if ('result' in end) return [{ kind: 'ended', sentence: `Job ${record.job.name} is done.` }];
    const { code, message } = end.failure;
    return [{ kind: 'ended', sentence: `Job ${record.job.name} failed: ${code}: ${oneLine(message)}.` }];
  }
  if (processes.length === 0) return [{ kind: 'stopped', sentence: 'No process of the job is running.' }];
  const causes = [
    // A master that is started again takes the request back.
    ...(stopRequested && processes.some(({ role }) => role === 'master') ? [STOPPING] : []),
    ...storeCauses(seen),
    ...diskCauses(seen),
    ...strangeCauses(seen),
    ...silentCauses(seen),
    ...missingCauses(seen),
    ...waitingCauses(seen),
    ...failureCauses(seen),
    ...networkCauses(seen),
    ...slowPserverCauses(seen),
    ...stalenessCauses(seen),
    ...barrierCauses(seen),
    ...slowTrainerCauses(seen),
    ...fewerCauses(seen),
  ];
  return causes.length > 0 ? causes : workCauses(seen);
}

const STOPPING: Cause = {
  kind: 'stopping',
  sentence: 'The job is stopping: its processes save their state.',
  hint: 'when the job has stopped, resume it with `paddlet run` or `paddlet master JOB`',
};
