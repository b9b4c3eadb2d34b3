/**
 * The object that `status --json` prints: the fields of the result as far as they are known, the cluster, its
 * processes.
 */
import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import type { JobView, ProcessView } from '../../view/job-view.ts';
import type { StoredProgress } from '../../view/stored-progress.ts';
import type { Listed } from '../base/listed-bad-records.ts';

export function statusJson(view: JobView, listed: Listed): object {
  const { record, end, result, checkpoints, command, wanted, tables } = view;
  const { passes, mode } = record.job.training;
  const common = {
    job: record.job.name,
    mode,
    passes,
    phase: view.phase,
    cluster: clusterJson(view),
    wanted,
    units: unitsJson(view),
    processes: view.processes.map((process) => ({ ...processJson(process), ...shareJson(process, view) })),
  };
  if (result !== undefined) return { ...common, ...result, ...listed };
  const failure = end !== undefined && 'failure' in end ? end.failure : undefined;
  return {
    ...common,
    elapsedSeconds: view.elapsedSeconds,
    checkpoints,
    ...(failure && { error: { code: failure.code, message: failure.message, exit: failure.exitCode } }),
    ...(end === undefined && { why: view.why }),
    ...(command && { resume: command }),
    ...(tables && { tables }),
    ...listed,
    ...progressJson(view),
  };
}

function unitsJson({ spread, record, copies }: JobView): object {
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
function clusterJson({ health, reason, written, processes, here }: JobView): object {
  const isBelieved = processes.some(({ role, answer }) => role === 'master' && answer.kind === 'info');
  return {
    cluster_status: health.status,
    reason,
    nodes: health.nodes,
    waitingFor: here?.kind === 'dead' ? [] : health.waitingFor,
    ...(here?.kind === 'run' && { run: { pid: here.pid } }),
    ...(written && { written: { ...written, believed: isBelieved } }),
  };
}

function progressJson({ master, records, kept, stored, progress: { tasks } }: JobView): object {
  if (master === undefined) return storedJson(stored);
  const { waitReason, recordsPerSecond } = master;
  const evaluation = kept === undefined ? {} : { evaluation: kept };
  if (master.mode === 'sync') {
    const { pass, ...rounds } = master.rounds;
    return { ...(pass === undefined ? {} : { pass }), rounds, records, ...evaluation, recordsPerSecond, waitReason };
  }
  const { pass, todo, pending } = master.tasks;
  return {
    pass,
    tasks: { ...tasks, todo, pending },
    records,
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

/** What the store has of a pserver: it does not depend on its answer. */
function shareJson({ share }: ProcessView, { record }: JobView): object {
  if (share === undefined) return {};
  const { status, isLeaving, units, copies, labels } = share;
  return { status, isLeaving, units, ...(record.job.cluster.replicas > 1 && { copies }), ...labels };
}

function processJson({ role, id, address, lease, answer }: ProcessView): object {
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
