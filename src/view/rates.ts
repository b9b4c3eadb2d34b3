/** What a process did between two looks: its speed, and how it spent its time. Pure. */

import type { LiveProcess } from './describe-job.ts';
import type { DirectingInfo, RoleInfo } from './info.ts';

export interface ProcessRates {
  /** Per second; undefined if the process was not seen before. */
  readonly rate?: number;
  /** What `rate` counts: records of a trainer, pushes or rounds of a pserver. */
  readonly unit?: 'records' | 'pushes' | 'rounds';
  /** Percent of its time, the most first. Since the process started, if it was not seen before. */
  readonly time?: readonly { readonly phase: string; readonly percent: number }[];
}

type Working = Extract<RoleInfo, { state: 'working' }>;

export const workingInfo = ({ answer }: LiveProcess): Working | undefined =>
  answer.kind === 'info' && answer.info.state === 'working' ? answer.info : undefined;

/** `before`: the same process at the earlier look. `seconds`: time between the looks. */
export function ratesOf(process: LiveProcess, before: LiveProcess | undefined, seconds: number): ProcessRates {
  const info = workingInfo(process);
  if (info === undefined || info.role === 'master') return {};
  const seen = before && workingInfo(before);
  // A process that was started again counts from 0.
  const earlier = seen?.pid === info.pid && seen.role === info.role ? seen : undefined;
  const counted = countOf(info);
  const time = shares(info.spentMs, earlier?.spentMs);
  if (earlier === undefined) return { unit: counted.unit, time };
  return {
    rate: Math.max(0, Math.round((counted.count - countOf(earlier).count) / seconds)),
    unit: counted.unit,
    time,
  };
}

function countOf(info: Exclude<Working, { role: 'master' }>): { count: number; unit: 'records' | 'pushes' | 'rounds' } {
  if (info.role === 'trainer') return { count: info.records, unit: 'records' };
  return info.mode === 'sync' ? { count: info.round, unit: 'rounds' } : { count: info.updates, unit: 'pushes' };
}

type SpentMs = Readonly<Record<string, number>>;

function shares(spentMs: SpentMs, before: SpentMs | undefined): { phase: string; percent: number }[] {
  const spent = Object.entries(spentMs).map(([phase, ms]) => ({ phase, ms: ms - (before?.[phase] ?? 0) }));
  const total = spent.reduce((sum, { ms }) => sum + ms, 0);
  return spent
    .map(({ phase, ms }) => ({ phase, percent: Math.round((100 * ms) / Math.max(total, 1)) }))
    .filter(({ percent }) => percent > 0)
    .sort((a, b) => b.percent - a.percent);
}

const LATE_MS = 1_000;

/** Why a trainer is a straggler: its task takes far longer than tasks do, or the round waits for its lane. */
export function slownessOf(trainer: string, master: DirectingInfo | undefined): string | undefined {
  if (master?.mode === 'async') {
    const slow = master.attempts.find((attempt) => attempt.slow && attempt.trainer === trainer);
    return slow && `slow: task ${slow.task} for ${Math.round(slow.ageMs / 1000)} s`;
  }
  if (master?.mode !== 'sync') return undefined;
  const waitedMs = Math.max(0, ...master.rounds.pservers.map((one) => (one.missing.length > 0 ? one.waitedMs : 0)));
  const isLate = waitedMs >= LATE_MS && master.rounds.missing.some(({ trainers }) => trainers[0] === trainer);
  return isLate ? `the round waits for it, ${Math.round(waitedMs / 1000)} s` : undefined;
}
