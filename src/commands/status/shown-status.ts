/** A job's status with what this machine knows of it, and what it comes to: the phase, the health, what holds it up. */
import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import type { DirectingInfo } from '../../cluster/info.ts';
import { directingInfo, type JobStatus } from '../../cluster/job/describe-job.ts';
import { waitingText } from '../../cluster/job/health.ts';
import { shellCommand } from '../../cluster/job/start-command.ts';
import { type Cause, oneLine } from '../../cluster/why/cause.ts';
import { whyOf } from '../../cluster/why/why.ts';
import type { Listed } from '../base/listed-bad-records.ts';
import type { SeenHere } from './seen-here.ts';
import type { StoredProgress } from './stored-progress.ts';

/** A job's status, and how far it is when no master says so. */
export interface ShownStatus extends JobStatus {
  readonly stored?: StoredProgress | undefined;
  /** For a store in a file: what is known about the processes of this machine. */
  readonly here?: SeenHere | undefined;
  /** Present if units have copies, and processes live. */
  readonly copies?: readonly UnitCopiesStatus[];
  readonly listed?: Listed;
}

export type JobPhase = 'done' | 'failed' | 'stopped' | 'unresponsive' | 'waiting' | DirectingInfo['phase'];

/**
 * `stopped`: no process lives. `unresponsive`: none answers, though some may live. `waiting`: some answer, and no
 * master directs the job.
 */
export function phaseOf(status: ShownStatus): JobPhase {
  const { end, processes, here } = status;
  if (end !== undefined) return 'failure' in end ? 'failed' : 'done';
  if (here?.kind === 'dead') return 'stopped';
  if (processes.length === 0) return here?.kind === 'run' ? 'unresponsive' : 'stopped';
  return directingInfo(status)?.phase ?? (status.health.status === 'UNKNOWN' ? 'unresponsive' : 'waiting');
}

/** Why the health is what it is; empty when all is well. */
export function reasonOf({ health, here }: ShownStatus): string {
  const { status, waitingFor } = health;
  if (status === 'OK') return '';
  const texts = waitingFor.map(waitingText).join('; ');
  if (status === 'UNHEALTHY') return `waiting for ${texts}`;
  if (here?.kind === 'dead') {
    return 'no process is running: all died; their leases end when the job is started again';
  }
  if (texts !== '') return `no process answers: they are dead, suspended or unreachable; waiting for ${texts}`;
  if (here?.kind !== 'run') return 'no process is running';
  const pid = here.pid === undefined ? '' : ` (pid ${here.pid})`;
  return `no process is registered, but a \`paddlet run\`${pid} works in the folder: its processes are starting or suspended`;
}

/** With what is known of this machine where the leases and answers do not say all. */
export function causesOf(status: ShownStatus): readonly Cause[] {
  const { here, end, command } = status;
  if (end !== undefined || (here === undefined && status.processes.length > 0)) return whyOf(status);
  const reason = reasonOf(status);
  const sentence = `${reason.charAt(0).toUpperCase()}${oneLine(reason.slice(1))}.`;
  if (here?.kind === 'run') return [{ kind: 'waiting', sentence }];
  if (command === undefined) return [{ kind: 'stopped', sentence }];
  const resume = `cd ${shellCommand([command.folder])} && ${command.command}`;
  return [{ kind: 'stopped', sentence, hint: `to resume it, on ${command.host}: ${resume}` }];
}
