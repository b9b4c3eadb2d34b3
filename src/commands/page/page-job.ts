/** What the page shows of a job. Pure. */
import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import type { KeptModels, Metrics } from '../../cluster/job/job-result.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import type { PageJob, PageLogLine, PageProcess, PageProgress, PageUnits } from '../../page/page-data.ts';
import type { LiveProcess } from '../../view/describe-job.ts';
import type { JobView, ProcessView } from '../../view/job-view.ts';
import { activityOf } from '../status/status-text.ts';

export interface PageLook {
  readonly view: JobView;
  readonly units: readonly UnitCopiesStatus[];
  readonly log: readonly PageLogLine[];
}

export function pageJobOf({ view, units, log }: PageLook): PageJob {
  const { record, phase, health, result, why, kept, records, waits } = view;
  return {
    name: record.job.name,
    mode: record.job.training.mode,
    phase,
    health: health.status,
    // A job that is done needs no reason.
    why: result === undefined ? why.map(({ sentence, hint }) => ({ sentence, hint })) : [],
    progress: progressOf(view),
    processes: view.live.map(processOf),
    waits,
    units: unitsOf(view, units),
    records,
    checkpoints: view.checkpoints.map((one) =>
      'error' in one
        ? { error: one.error }
        : {
            ...{ index: one.index, time: one.timestamp, uuid: one.uuid, bytes: one.bytes, round: one.round },
            ...(one.buildsOn && { buildsOn: one.buildsOn }),
          },
    ),
    ...tablesOf(view),
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

function progressOf({ progress, elapsedSeconds }: JobView): PageProgress {
  const { share, pass, passes, tasksOfPass, rounds, recordsPerSecond, secondsLeft, loss } = progress;
  return {
    ...{ passes, elapsedSeconds, share, recordsPerSecond, secondsLeft, pass },
    ...(loss !== undefined && { loss }),
    ...(rounds && { rounds }),
    ...(tasksOfPass && {
      tasks: { done: tasksOfPass.done, total: tasksOfPass.total, pending: tasksOfPass.pending },
    }),
  };
}

function processOf({ name, role, id, address, answer, rates, slow }: ProcessView): PageProcess {
  const info = answer.kind === 'info' ? answer.info : undefined;
  const bytes = info?.state === 'working' && info.role === 'pserver' ? info.bytes : undefined;
  return {
    ...{ key: name, role, address, host: info?.host, pid: info?.pid },
    id: role === 'master' ? '' : role === 'trainer' ? shortId(id) : id,
    state: info?.state ?? (answer.kind === 'none' ? 'silent' : 'strange'),
    activity: activityIn(answer),
    ...{ rate: rates.rate, rateOf: rates.unit, bytes, time: rates.time ?? [] },
    ...(info?.state === 'working' && slow !== undefined && { slow }),
    errors: info?.errors ?? [],
  };
}

/** The page itself says that it waits. */
function activityIn(answer: LiveProcess['answer']): string {
  if (answer.kind === 'notUnderstood') return answer.error.message;
  if (answer.kind === 'info' && answer.info.state === 'waiting') return answer.info.waitingFor;
  return activityOf(answer, false);
}

function unitsOf({ spread, record }: JobView, units: readonly UnitCopiesStatus[]): PageUnits {
  const { units: total, toMove, orphans } = spread;
  const list = units.map(({ unit, primary, inSync, told }) => {
    const behind = Math.max(0, ...(told?.copies ?? []).map((copy) => copy.behind ?? 0));
    return { unit, primary, inSync, behind };
  });
  return { total, toMove, orphans, replicas: record.job.cluster.replicas, list };
}

function tablesOf({ tables, notes }: JobView): Pick<PageJob, 'tables'> {
  if (tables === undefined) return {};
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
