/** What the page shows of a job, from two looks at its status. Pure. */
import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import { directingInfo, type JobStatus, type LiveProcess } from '../../cluster/job/describe-job.ts';
import { elapsedSeconds } from '../../cluster/job/job-record.ts';
import type { KeptModels, Metrics } from '../../cluster/job/job-result.ts';
import { limitedTables, tableNotes } from '../../cluster/job/limited-tables.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import type { PageJob, PageLogLine, PageProcess, PageProgress, PageUnits } from '../../page/page-data.ts';
import { secondsLeft, shareDone } from '../base/time-left.ts';
import { causesOf, phaseOf, type ShownStatus } from '../status/shown-status.ts';
import { leastApplied } from '../status/status-json.ts';
import { activityOf } from '../status/status-text.ts';
import { type Look, type ProcessRow, rowsOf } from '../top/rows.ts';
import { keyOf, waitsOf } from './waits.ts';

export interface PageLooks {
  /** Undefined at first: then no rate is known. */
  readonly before: Look | undefined;
  readonly now: Look;
  readonly units: readonly UnitCopiesStatus[];
  readonly log: readonly PageLogLine[];
  /** Now, in seconds since 1970. */
  readonly wallSeconds: number;
}

export function pageJobOf({ before, now, units, log, wallSeconds }: PageLooks): PageJob {
  const { status } = now;
  const { record, end, health } = status;
  const result = end !== undefined && 'result' in end ? end.result : undefined;
  const kept = result?.evaluation ?? directingInfo(status)?.kept;
  const rows = rowsOf(before ?? { ...now, status: { ...status, processes: [] } }, now);
  return {
    name: record.job.name,
    mode: record.job.training.mode,
    phase: phaseOf(status),
    health: health.status,
    // A job that is done needs no reason.
    why: result === undefined ? causesOf(status).map(({ sentence, hint }) => ({ sentence, hint })) : [],
    progress: progressOf(status, wallSeconds),
    processes: status.processes.map((process, at) => processOf(process, rows[at]!)),
    waits: waitsOf(status),
    units: unitsOf(status, units),
    records: result?.records ?? recordsOf(status),
    checkpoints: status.checkpoints.map((one) =>
      'error' in one
        ? { error: one.error }
        : {
            ...{ index: one.index, time: one.timestamp, uuid: one.uuid, bytes: one.bytes, round: one.round },
            ...(one.buildsOn && { buildsOn: one.buildsOn }),
          },
    ),
    ...tablesOf(status),
    ...(kept === undefined ? {} : { kept: keptOf(kept) }),
    ...(result === undefined
      ? {}
      : {
          result: {
            modelDigest: result.modelDigest,
            recordsPerSecond: result.recordsPerSecond,
            elapsedSeconds: result.elapsedSeconds,
            train: numbersIn(result.metrics.train),
            test: numbersIn(result.metrics.test),
          },
        }),
    log,
  };
}

function progressOf(status: ShownStatus, wallSeconds: number): PageProgress {
  const { record, end } = status;
  const { passes } = record.job.training;
  if (end !== undefined && 'result' in end) {
    const { recordsPerSecond, elapsedSeconds: took, evaluation } = end.result;
    const ended = evaluation?.last.passes ?? passes;
    return { share: 1, passes, pass: ended - 1, recordsPerSecond, elapsedSeconds: took };
  }
  const elapsed = elapsedSeconds(record, wallSeconds);
  const master = directingInfo(status);
  if (master === undefined) return { passes, elapsedSeconds: elapsed, ...storedOf(status) };
  const losses = Object.values(master.trainers).flatMap(({ loss }) => loss ?? []);
  return {
    passes,
    elapsedSeconds: elapsed,
    share: master.phase === 'training' ? shareDone(master) : 1,
    recordsPerSecond: master.recordsPerSecond,
    secondsLeft: secondsLeft(master),
    ...(losses.length > 0 && { loss: losses.reduce((sum, loss) => sum + loss, 0) / losses.length }),
    ...(master.mode === 'sync'
      ? {
          pass: master.rounds.pass,
          ...(master.rounds.round !== undefined && {
            rounds: { done: master.rounds.round, total: master.rounds.total },
          }),
        }
      : {
          pass: master.tasks.pass,
          tasks: { done: master.tasks.done, total: master.tasks.total, pending: master.tasks.pending },
        }),
  };
}

/** The saved progress of a job that no master directs. */
function storedOf({ stored }: ShownStatus): Pick<PageProgress, 'share' | 'pass' | 'rounds'> {
  if (stored === undefined) return {};
  const { pass } = stored;
  if (stored.mode === 'sync') {
    const { round, total } = stored;
    return { pass, share: round / Math.max(1, total), rounds: { done: round, total } };
  }
  const { done, discarded, total } = stored.tasks;
  return { pass, share: (done + discarded) / Math.max(1, total) };
}

function processOf(process: LiveProcess, row: ProcessRow): PageProcess {
  const { role, id, address, answer } = process;
  const info = answer.kind === 'info' ? answer.info : undefined;
  const isWorking = info?.state === 'working';
  const bytes = isWorking && info.role === 'pserver' ? info.bytes : undefined;
  return {
    ...{ key: keyOf(process), role, address, host: info?.host, pid: info?.pid },
    id: role === 'master' ? '' : role === 'trainer' ? shortId(id) : id,
    state: info?.state ?? (answer.kind === 'none' ? 'silent' : 'strange'),
    activity: activityIn(answer),
    ...{ rate: row.rate, rateOf: row.unit, bytes, time: row.time ?? [] },
    // The note of a master is its phase, and that of an idle process why it does not work: neither means slow.
    ...(isWorking && role !== 'master' && { slow: row.note }),
    errors: info?.errors ?? [],
  };
}

/** The page itself says that it waits. */
function activityIn(answer: LiveProcess['answer']): string {
  if (answer.kind === 'notUnderstood') return answer.error.message;
  if (answer.kind === 'info' && answer.info.state === 'waiting') return answer.info.waitingFor;
  return activityOf(answer, false);
}

function unitsOf({ spread, record }: JobStatus, units: readonly UnitCopiesStatus[]): PageUnits {
  const { units: total, toMove, orphans } = spread;
  const list = units.map(({ unit, primary, inSync, told }) => {
    const behind = Math.max(0, ...(told?.copies ?? []).map((copy) => copy.behind ?? 0));
    return { unit, primary, inSync, behind };
  });
  return { total, toMove, orphans, replicas: record.job.cluster.replicas, list };
}

function recordsOf(status: ShownStatus): PageJob['records'] {
  const master = directingInfo(status);
  if (master === undefined) return status.stored?.mode === 'async' ? status.stored.records : {};
  const account = leastApplied(status);
  const applied = account && { applied: account.applied, discarded: account.discarded };
  return master.mode === 'sync' ? { ...applied } : { ...master.sums, ...applied, lost: master.lost };
}

/** Those of the result, if the job is done. */
function tablesOf(status: ShownStatus): Pick<PageJob, 'tables'> {
  const { end } = status;
  const tables = end !== undefined && 'result' in end ? end.result.tables : limitedTables(status);
  if (tables === undefined) return {};
  const notes = end === undefined ? tableNotes(status) : [];
  return {
    tables: tables.map(({ evicted: { bound, unseen }, updated: _, ...table }) => ({
      ...table,
      evicted: { bound: bound.rows, unseen: unseen.rows },
      note: notes.find((note) => note.table === table.name)?.sentence,
    })),
  };
}

function keptOf({ metric, last, best }: KeptModels): NonNullable<PageJob['kept']> {
  const point = ({ passes, metrics }: KeptModels['last']) => ({ passes, value: metrics[metric] });
  return { metric, last: point(last), best: best && point(best) };
}

/** Those that are known, and finite: JSON has no others. */
function numbersIn(metrics: Partial<Metrics> = {}): Record<string, number> {
  const known = Object.entries(metrics).flatMap(([name, value]) =>
    name !== 'records' && value !== undefined && Number.isFinite(value) ? [[name, value] as const] : [],
  );
  return Object.fromEntries(known);
}
