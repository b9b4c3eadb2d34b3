/**
 * The object that `status --json` prints: the fields of the result as far as they are known, the cluster, its
 * processes.
 */

import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import type { DirectingInfo, RecordAccount } from '../../cluster/info.ts';
import { directingInfo, type JobStatus, type LiveProcess } from '../../cluster/job/describe-job.ts';
import { elapsedSeconds } from '../../cluster/job/job-record.ts';
import { allServing, limitedTables } from '../../cluster/job/limited-tables.ts';
import { causesOf, phaseOf, reasonOf, type ShownStatus } from './shown-status.ts';
import type { StoredProgress } from './stored-progress.ts';

/** `wallSeconds`: now, in seconds since 1970. */
export function statusJson(status: ShownStatus, wallSeconds: number): object {
  const { record, end, processes, checkpoints, command, wanted } = status;
  const { passes, mode } = record.job.training;
  const common = {
    job: record.job.name,
    mode,
    passes,
    phase: phaseOf(status),
    cluster: clusterJson(status),
    wanted,
    units: unitsJson(status),
    processes: processes.map((process) => ({ ...processJson(process), ...placeJson(process, status) })),
  };
  if (end !== undefined && 'result' in end) return { ...common, ...end.result, ...status.listed };
  return {
    ...common,
    elapsedSeconds: elapsedSeconds(record, wallSeconds),
    checkpoints,
    ...(end && { error: { code: end.failure.code, message: end.failure.message, exit: end.failure.exitCode } }),
    ...(end === undefined && { why: causesOf(status) }),
    ...(command && { resume: command }),
    ...tablesJson(status),
    ...status.listed,
    ...progressJson(status, directingInfo(status)),
  };
}

function tablesJson(status: ShownStatus): object {
  const tables = limitedTables(status);
  return tables === undefined ? {} : { tables };
}

function unitsJson({ spread, record, copies }: ShownStatus): object {
  const { units: total, toMove, orphans, lacking } = spread;
  return {
    total,
    toMove,
    orphans,
    ...(record.job.cluster.replicas > 1 && { lacking, copies: copies?.map(copiesJson) }),
  };
}

/** `committed`, `staged` and `behind` count updates. */
function copiesJson({ unit, primary, inSync, told }: UnitCopiesStatus): object {
  const { epoch, committed, staged, copies } = { ...told };
  return { unit, primary, inSync, ...(told && { epoch, committed, staged, copies }) };
}

/** As it is now; `written` is what the last master wrote, which counts only while that master answers. */
function clusterJson(status: ShownStatus): object {
  const { health, written, processes, here } = status;
  const isBelieved = processes.some(({ role, answer }) => role === 'master' && answer.kind === 'info');
  return {
    cluster_status: health.status,
    reason: reasonOf(status),
    nodes: health.nodes,
    waitingFor: here?.kind === 'dead' ? [] : health.waitingFor,
    ...(here?.kind === 'run' && { run: { pid: here.pid } }),
    ...(written && { written: { ...written, believed: isBelieved } }),
  };
}

function progressJson(status: ShownStatus, master: DirectingInfo | undefined): object {
  if (master === undefined) return storedJson(status.stored);
  const { waitReason, passes, recordsPerSecond, kept } = master;
  const evaluation = kept === undefined ? {} : { evaluation: kept };
  const applied = leastApplied(status);
  const records = applied && { applied: applied.applied, discarded: applied.discarded };
  if (master.mode === 'sync') {
    const { pass, ...rounds } = master.rounds;
    return {
      ...(pass === undefined ? {} : { pass }),
      rounds,
      records: { ...records },
      ...evaluation,
      recordsPerSecond,
      waitReason,
    };
  }
  const { pass, total, done, todo, pending, discarded } = master.tasks;
  return {
    pass,
    tasks: { total: passes * total, done: pass * total + done, discarded, todo, pending },
    records: { ...master.sums, ...records, lost: master.lost },
    ...evaluation,
    recordsPerSecond,
    attempts: master.attempts,
    recovery: master.recovery,
    waitReason,
  };
}

function storedJson(stored: StoredProgress | undefined): object {
  if (stored === undefined) return {};
  const { pass } = stored;
  if (stored.mode === 'async') return { pass, tasks: stored.tasks, records: stored.records };
  return { pass, rounds: { total: stored.total, round: stored.round, records: stored.records } };
}

/** From the ledgers of the pserver that applied least; undefined unless all shards are among those that answered. */
export function leastApplied(status: JobStatus): RecordAccount | undefined {
  const accounts = allServing(status)?.map(({ account }) => account);
  return accounts?.reduce((least, one) => (one.applied < least.applied ? one : least));
}

/** What the store has of a pserver: it does not depend on its answer. */
function placeJson({ role, id }: LiveProcess, { spread, record }: JobStatus): object {
  const share = role === 'pserver' ? spread.pservers.find(({ index }) => index === Number(id)) : undefined;
  if (share === undefined) return {};
  const { status, isLeaving, units, copies, labels } = share;
  return { status, isLeaving, units, ...(record.job.cluster.replicas > 1 && { copies }), ...labels };
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
