/** What processes did between two looks. Pure. */
import { visible } from '../../base/visible.ts';
import type { DirectingInfo, RoleInfo } from '../../cluster/info.ts';
import { directingInfo, type LiveProcess } from '../../cluster/job/describe-job.ts';
import { silenceText } from '../../cluster/job/health.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import { durationText } from '../base/fit.ts';
import type { TableColumn } from '../base/table.ts';
import { secondsLeft, shareDone } from '../base/time-left.ts';
import { causesOf, phaseOf, type ShownStatus } from '../status/shown-status.ts';

export interface Look {
  readonly status: ShownStatus;
  /** Time on a monotonic clock. */
  readonly atMs: number;
}

export interface ProcessRow {
  readonly role: RoleInfo['role'];
  readonly id: string;
  /** In a second: records of a trainer, pushes or rounds of a pserver. Undefined when it was not seen before. */
  readonly rate?: number;
  readonly unit?: 'records' | 'pushes' | 'rounds';
  readonly megabytes?: number;
  /** Percent of its time, the most first. */
  readonly time?: readonly { readonly phase: string; readonly percent: number }[];
  /** Notes that the process is slow, waits, or does not answer. */
  readonly note?: string;
}

type Working = Extract<RoleInfo, { state: 'working' }>;

export function rowsOf(before: Look, now: Look): ProcessRow[] {
  const seconds = (now.atMs - before.atMs) / 1000;
  const master = directingInfo(now.status);
  return now.status.processes.map((process) => {
    const { role, id } = process;
    const row = { role, id: role === 'master' ? '' : id };
    const info = workingInfo(process);
    if (info === undefined) return { ...row, note: stateOf(process) };
    const same = before.status.processes.find((one) => one.role === role && one.id === id);
    const earlier = same && workingInfo(same);
    const note = info.role === 'master' ? info.phase : slowness(master, id);
    return { ...row, ...workOf(info, earlier?.pid === info.pid ? earlier : undefined, seconds), ...(note && { note }) };
  });
}

const workingInfo = ({ answer }: LiveProcess): Working | undefined =>
  answer.kind === 'info' && answer.info.state === 'working' ? answer.info : undefined;

function stateOf({ answer }: LiveProcess): string {
  if (answer.kind === 'none') return silenceText(answer);
  if (answer.kind === 'notUnderstood') return answer.error.message;
  return answer.info.state === 'waiting' ? `waits for ${answer.info.waitingFor}` : '';
}

type Work = Pick<ProcessRow, 'rate' | 'unit' | 'megabytes' | 'time'>;

function workOf(info: Working, earlier: Working | undefined, seconds: number): Work {
  const perSecond = (count: number, countBefore: number | undefined): Pick<ProcessRow, 'rate'> =>
    countBefore === undefined ? {} : { rate: Math.max(0, Math.round((count - countBefore) / seconds)) };
  switch (info.role) {
    case 'master':
      return {};
    case 'trainer': {
      const trainer = earlier?.role === 'trainer' ? earlier : undefined;
      return { ...perSecond(info.records, trainer?.records), unit: 'records', time: shares(info, trainer) };
    }
    case 'pserver': {
      const pserver = earlier?.role === 'pserver' ? earlier : undefined;
      const rate = perSecond(progressOf(info), pserver && progressOf(pserver));
      const unit = info.mode === 'sync' ? 'rounds' : 'pushes';
      return { ...rate, unit, megabytes: Math.round(info.bytes / 1e5) / 10, time: shares(info, pserver) };
    }
  }
}

const progressOf = (info: Extract<Working, { role: 'pserver' }>): number =>
  info.mode === 'sync' ? info.round : info.updates;

type Spent = { readonly spentMs: Readonly<Record<string, number>> };

function shares(now: Spent, before: Spent | undefined): { phase: string; percent: number }[] {
  const spent = Object.entries(now.spentMs).map(([phase, ms]) => ({ phase, ms: ms - (before?.spentMs[phase] ?? 0) }));
  const total = spent.reduce((sum, { ms }) => sum + ms, 0);
  return spent
    .map(({ phase, ms }) => ({ phase, percent: Math.round((100 * ms) / Math.max(total, 1)) }))
    .filter(({ percent }) => percent > 0)
    .sort((a, b) => b.percent - a.percent);
}

/** A trainer whose task takes far longer than tasks do, or whose lane the round waits for. */
function slowness(master: DirectingInfo | undefined, id: string): string | undefined {
  if (master?.mode === 'async') {
    const slow = master.attempts.find((attempt) => attempt.slow && attempt.trainer === id);
    return slow && `slow: task ${slow.task} for ${Math.round(slow.ageMs / 1000)} s`;
  }
  if (master?.mode !== 'sync') return undefined;
  const waitedMs = Math.max(0, ...master.rounds.pservers.map((one) => (one.missing.length > 0 ? one.waitedMs : 0)));
  const isLate = waitedMs >= LATE_MS && master.rounds.missing.some(({ trainers }) => trainers[0] === id);
  return isLate ? `the round waits for it, ${Math.round(waitedMs / 1000)} s` : undefined;
}

const LATE_MS = 1_000;

const SHORT = { records: 'rec', pushes: 'push', rounds: 'round' } as const;
/** Narrower ones have fewer columns. */
const WIDE_FROM = 64;

export interface TopTable {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly string[])[];
}

/** `columns` of the terminal. */
export function topTable(rows: readonly ProcessRow[], columns: number): TopTable {
  const isWide = columns >= WIDE_FROM;
  const heads: TableColumn[] = [
    ...[{ head: 'role' }, { head: 'id' }, { head: 'rate', align: 'right' as const }],
    ...(isWide ? [{ head: 'MB', align: 'right' as const }] : []),
    ...[{ head: 'time' }, { head: 'note' }],
  ];
  return { columns: heads, rows: rows.map((row) => rowText(row, isWide)) };
}

function rowText({ role, id, rate, unit, megabytes, time = [], note = '' }: ProcessRow, isWide: boolean): string[] {
  const speed = rate === undefined || unit === undefined ? '' : `${rate} ${isWide ? unit : SHORT[unit]}/s`;
  const phases = time.slice(0, isWide ? 2 : 1).map(({ phase, percent }) => `${phase} ${percent}%`);
  const memory = isWide ? [megabytes?.toFixed(1) ?? ''] : [];
  return [role, role === 'trainer' ? shortId(id) : id, speed, ...memory, phases.join(' '), note];
}

/** How far the job is, and what holds it up. */
export function headLines({ status }: Look): string[] {
  const master = directingInfo(status);
  const { passes } = status.record.job.training;
  const done = master && shareDone(master);
  const left = master && secondsLeft(master);
  const pass = master?.mode === 'sync' ? master.rounds.pass : master?.tasks.pass;
  const parts = [
    `job ${status.record.job.name}: ${phaseOf(status)}`,
    ...(pass === undefined ? [] : [`pass ${Math.min(pass + 1, passes)} of ${passes}`]),
    ...(done === undefined ? [] : [`${Math.floor(100 * done)}%`]),
    ...(master?.recordsPerSecond === undefined ? [] : [`${master.recordsPerSecond} records/s`]),
    ...(left === undefined ? [] : [`${durationText(left)} left`]),
  ];
  const [cause] = causesOf(status);
  return [parts.join(', '), ...(cause === undefined ? [] : [`why: ${cause.sentence}`])].map(visible);
}
