/** The rows of `top`: what each process did between two looks. Pure. */
import { visible } from '../../base/visible.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import { silenceText } from '../../view/health.ts';
import type { RoleInfo } from '../../view/info.ts';
import type { JobView, ProcessView } from '../../view/job-view.ts';
import type { ProcessRates } from '../../view/rates.ts';
import { durationText } from '../base/fit.ts';
import type { TableColumn } from '../base/table.ts';

/** As `--json` prints it, too. */
export interface ProcessRow extends ProcessRates {
  readonly role: RoleInfo['role'];
  readonly id: string;
  readonly megabytes?: number;
  /** Notes that the process is slow, waits, or does not answer. */
  readonly note?: string;
}

export function rowOf({ role, id, answer, rates, slow }: ProcessView): ProcessRow {
  const row = { role, id: role === 'master' ? '' : id };
  if (answer.kind === 'none') return { ...row, note: silenceText(answer) };
  if (answer.kind === 'notUnderstood') return { ...row, note: answer.error.message };
  const { info } = answer;
  if (info.state === 'waiting') return { ...row, note: `waits for ${info.waitingFor}` };
  if (info.role === 'master') return { ...row, note: info.phase };
  const megabytes = info.role === 'pserver' ? { megabytes: Math.round(info.bytes / 1e5) / 10 } : {};
  return { ...row, ...rates, ...megabytes, ...(slow !== undefined && { note: slow }) };
}

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
export function headLines({ record, phase, progress, why }: JobView): string[] {
  const { passes, pass, share, recordsPerSecond, secondsLeft } = progress;
  const parts = [
    `job ${record.job.name}: ${phase}`,
    ...(pass === undefined ? [] : [`pass ${Math.min(pass + 1, passes)} of ${passes}`]),
    ...(share === undefined ? [] : [`${Math.floor(100 * share)}%`]),
    ...(recordsPerSecond === undefined ? [] : [`${recordsPerSecond} records/s`]),
    ...(secondsLeft === undefined ? [] : [`${durationText(secondsLeft)} left`]),
  ];
  const [cause] = why;
  return [parts.join(', '), ...(cause === undefined ? [] : [`why: ${cause.sentence}`])].map(visible);
}
