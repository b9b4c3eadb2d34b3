/**
 * A job as it is seen now: what was found, and what it comes to. `status`, `top`, `why`, `jobs`, the page and their
 * `--json` print a `JobView`, and decide nothing themselves. Pure.
 */
import { elapsedSeconds } from '../cluster/job/job-record.ts';
import type { JobResult, KeptModels } from '../cluster/job/job-result.ts';
import { shellCommand } from '../cluster/job/start-command.ts';
import type { PserverShare } from '../cluster/placement/spread.ts';
import type { TableReport } from '../protocol/messages/table-report.ts';
import { directingInfo, type LiveProcess } from './describe-job.ts';
import { waitingText } from './health.ts';
import type { DirectingInfo, RecordAccount } from './info.ts';
import { allServing, limitedTables, type TableNote, tableNotes } from './limited-tables.ts';
import { processName } from './process-name.ts';
import { type JobProgress, progressOfMaster, progressOfResult, progressOfStored } from './progress.ts';
import { type ProcessRates, ratesOf, slownessOf } from './rates.ts';
import type { Look, SeenJob } from './see-job.ts';
import { type Wait, waitsOf } from './waits.ts';
import { type Cause, oneLine } from './why/cause.ts';
import { whyOf } from './why/why.ts';

/**
 * `stopped`: no process lives. `unresponsive`: none answers, though some may live. `waiting`: some answer, and no
 * master directs the job.
 */
export type JobPhase = 'done' | 'failed' | 'stopped' | 'unresponsive' | 'waiting' | DirectingInfo['phase'];

export interface ProcessView extends LiveProcess {
  /** `processName`. */
  readonly name: string;
  /** What the store has of a pserver, whether it answers or not. */
  readonly share: PserverShare | undefined;
  readonly rates: ProcessRates;
  /** Why it is a straggler. */
  readonly slow: string | undefined;
}

/** Records of all passes by what became of them, as far as it is known. */
export type RecordCounts = Partial<
  Record<'read' | 'good' | 'bad' | 'duplicate' | 'applied' | 'discarded' | 'lost', number>
>;

export interface JobView extends SeenJob {
  readonly phase: JobPhase;
  /** What the master says, while it directs the job. */
  readonly master: DirectingInfo | undefined;
  readonly result: JobResult | undefined;
  /** Why the health is what it is; empty when all is well. */
  readonly reason: string;
  /** What holds the job up, the cause first. A job that has ended has one cause, its end. */
  readonly why: readonly Cause[];
  /** Facts that hold nothing up, but should be known. */
  readonly notes: readonly TableNote[];
  readonly progress: JobProgress;
  /** Seconds since the job was published; of a job that is done, the time that it took. */
  readonly elapsedSeconds: number;
  readonly records: RecordCounts;
  /** Models that evaluations while the job trains have kept. */
  readonly kept: KeptModels | undefined;
  /** Tables with admission, eviction or a bound; undefined without such tables, or while a pserver does not answer. */
  readonly tables: readonly TableReport[] | undefined;
  /** All processes with a key in the store. */
  readonly processes: readonly ProcessView[];
  /** The processes, except those known to be dead: their keys stay until their leases end. */
  readonly live: readonly ProcessView[];
  /** Which process waits for which, both by `name`. */
  readonly waits: readonly Wait[];
}

/** Rates of processes need an earlier look. */
export function viewOf({ seen, atMs, wallSeconds }: Look, before?: Look): JobView {
  const { end, record } = seen;
  const master = directingInfo(seen);
  const result = end !== undefined && 'result' in end ? end.result : undefined;
  const processes = seen.processes.map((process): ProcessView => {
    const { role, id } = process;
    const earlier = before?.seen.processes.find((one) => one.role === role && one.id === id);
    return {
      ...process,
      name: processName(process),
      share: role === 'pserver' ? seen.spread.pservers.find(({ index }) => index === Number(id)) : undefined,
      rates: ratesOf(process, earlier, (atMs - (before?.atMs ?? atMs)) / 1000),
      slow: role === 'trainer' ? slownessOf(id, master) : undefined,
    };
  });
  // Keys of processes that died stay until their leases end.
  const live = seen.here?.kind === 'dead' ? [] : processes;
  return {
    ...seen,
    phase: phaseOf(seen, master),
    ...{ master, result, processes, live },
    reason: reasonOf(seen),
    why: causesOf(seen),
    notes: end === undefined ? tableNotes(seen) : [],
    progress: progressOf(seen, master, result),
    elapsedSeconds: result?.elapsedSeconds ?? elapsedSeconds(record, wallSeconds),
    records: result?.records ?? recordsOf(seen, master),
    kept: result?.evaluation ?? master?.kept,
    tables: result === undefined ? limitedTables(seen) : result.tables,
    waits: waitsOf({ processes: live }),
  };
}

function phaseOf({ end, processes, here, health }: SeenJob, master: DirectingInfo | undefined): JobPhase {
  if (end !== undefined) return 'failure' in end ? 'failed' : 'done';
  if (here?.kind === 'dead') return 'stopped';
  if (processes.length === 0) return here?.kind === 'run' ? 'unresponsive' : 'stopped';
  return master?.phase ?? (health.status === 'UNKNOWN' ? 'unresponsive' : 'waiting');
}

function reasonOf({ health, here }: SeenJob): string {
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
function causesOf(seen: SeenJob): readonly Cause[] {
  const { here, end, command } = seen;
  if (end !== undefined || (here === undefined && seen.processes.length > 0)) return whyOf(seen);
  const reason = reasonOf(seen);
  const sentence = `${reason.charAt(0).toUpperCase()}${oneLine(reason.slice(1))}.`;
  if (here?.kind === 'run') return [{ kind: 'waiting', sentence }];
  if (command === undefined) return [{ kind: 'stopped', sentence }];
  const resume = `cd ${shellCommand([command.folder])} && ${command.command}`;
  return [{ kind: 'stopped', sentence, hint: `to resume it, on ${command.host}: ${resume}` }];
}

function progressOf(
  { record, stored }: SeenJob,
  master: DirectingInfo | undefined,
  result: JobResult | undefined,
): JobProgress {
  const { passes } = record.job.training;
  if (result !== undefined) return progressOfResult(result, passes);
  if (master !== undefined) return progressOfMaster(master);
  return stored === undefined ? { passes } : progressOfStored(stored, passes);
}

function recordsOf(seen: SeenJob, master: DirectingInfo | undefined): RecordCounts {
  if (master === undefined) return seen.stored?.mode === 'async' ? seen.stored.records : {};
  const account = leastApplied(seen);
  const applied = account && { applied: account.applied, discarded: account.discarded };
  return master.mode === 'sync' ? { ...applied } : { ...master.sums, ...applied, lost: master.lost };
}

/** From the ledgers of the pserver that applied least; undefined unless all shards are among those that answered. */
function leastApplied(seen: SeenJob): RecordAccount | undefined {
  const accounts = allServing(seen)?.map(({ account }) => account);
  return accounts?.reduce((least, one) => (one.applied < least.applied ? one : least));
}
