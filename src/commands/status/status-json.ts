/**
 * The object that `status --json` prints: the fields of the result as far as they are known, the cluster, its
 * processes.
 */
import type { DirectingInfo, RecordAccount } from '../../cluster/info.ts';
import type { JobStatus, LiveProcess } from '../../cluster/job/describe-job.ts';
import { elapsedSeconds } from '../../cluster/job/job-record.ts';

export type JobPhase = 'done' | 'failed' | 'stopped' | 'waiting' | DirectingInfo['phase'];

/** `stopped`: no process lives. `waiting`: some do, and no master directs the job. */
export function phaseOf(status: JobStatus): JobPhase {
  const { end, processes } = status;
  if (end !== undefined) return 'failure' in end ? 'failed' : 'done';
  return directingInfo(status)?.phase ?? (processes.length === 0 ? 'stopped' : 'waiting');
}

/** What the master says, once it directs the job. */
export function directingInfo({ processes }: JobStatus): DirectingInfo | undefined {
  for (const { answer } of processes) {
    if (answer.kind === 'info' && answer.info.role === 'master' && answer.info.state === 'working') return answer.info;
  }
  return undefined;
}

/** `wallSeconds`: now, in seconds since 1970. */
export function statusJson(status: JobStatus, wallSeconds: number): object {
  const { record, end, cluster, processes, checkpoints } = status;
  const { passes, mode } = record.job.training;
  const common = {
    job: record.job.name,
    mode,
    passes,
    phase: phaseOf(status),
    cluster: cluster ?? { cluster_status: 'UNKNOWN', reason: 'no master has looked yet', nodes: [] },
    processes: processes.map(processJson),
  };
  if (end !== undefined && 'result' in end) return { ...common, ...end.result };
  return {
    ...common,
    elapsedSeconds: elapsedSeconds(record, wallSeconds),
    checkpoints,
    ...(end && { error: { code: end.failure.code, message: end.failure.message, exit: end.failure.exitCode } }),
    ...progressJson(status, directingInfo(status)),
  };
}

function progressJson(status: JobStatus, master: DirectingInfo | undefined): object {
  if (master === undefined) return {};
  const { waitReason, passes } = master;
  const applied = leastApplied(status);
  const records = applied && { applied: applied.applied, discarded: applied.discarded };
  if (master.mode === 'sync') {
    const { pass, ...rounds } = master.rounds;
    return { ...(pass === undefined ? {} : { pass }), rounds, records: { ...records }, waitReason };
  }
  const { pass, total, done, todo, pending, discarded } = master.tasks;
  return {
    pass,
    tasks: { total: passes * total, done: pass * total + done, discarded, todo, pending },
    records: { ...master.sums, ...records },
    attempts: master.attempts,
    recovery: master.recovery,
    waitReason,
  };
}

/** From the ledgers of the pserver that applied least; undefined unless all pservers answered. */
function leastApplied({ record, processes }: JobStatus): RecordAccount | undefined {
  const accounts = processes.flatMap(({ answer }) =>
    answer.kind === 'info' && answer.info.role === 'pserver' && answer.info.state === 'working'
      ? [answer.info.account]
      : [],
  );
  if (accounts.length < record.job.cluster.pservers) return undefined;
  return accounts.reduce((least, one) => (one.applied < least.applied ? one : least));
}

function processJson({ role, id, address, lease, answer }: LiveProcess): object {
  const named = role === 'pserver' ? { index: Number(id) } : role === 'trainer' ? { id } : {};
  const known = { role, ...named, address, lease };
  switch (answer.kind) {
    case 'none':
      return { ...known, answers: false };
    case 'notUnderstood':
      return { ...known, answers: false, error: { code: answer.error.code, message: answer.error.message } };
    case 'info':
      return { ...known, answers: true, ...answer.info };
  }
}
