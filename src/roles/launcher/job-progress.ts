/** From the master's standing to what a person wants to see: how far, how well, how fast, how long still. */
import type { Standing } from './watch-master.ts';

export interface JobProgress {
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

/** Remembers the rate; `now` in milliseconds on a monotonic clock. */
export function createProgressMeter(): (standing: Standing, now: number) => JobProgress {
  let first: { read: number; atMs: number } | undefined;
  let last: JobProgress = { done: 0, total: 1, note: '' };
  return (standing, now) => {
    const { passes, phase } = standing;
    if (phase === 'evaluating') {
      const { done, total } = standing.evaluation ?? { done: 0, total: 1 };
      return { done, total, note: 'evaluating on the test file' };
    }
    if (phase === 'concluding') return { done: 1, total: 1, note: 'writing final checkpoints' };
    const work = workOf(standing);
    if (work === undefined) return last;
    // Records go down when a job in mode sync is set back.
    if (first === undefined || work.records < first.read) first = { read: work.records, atMs: now };
    const rate = (work.records - first.read) / Math.max((now - first.atMs) / 1000, 0.001);
    const left = (passes * standing.records - work.records) / rate;
    const notes = [
      `pass ${Math.min(work.pass + 1, passes)}/${passes}`,
      work.note,
      lossNote(standing),
      rate > 0 ? `${Math.round(rate).toLocaleString('en')} records/s` : undefined,
      rate > 0 && Number.isFinite(left) ? `${Math.max(0, Math.ceil(left))} s left` : undefined,
    ];
    const { done, total } = work;
    last = { done, total, note: notes.filter((note) => note !== undefined).join('  ') };
    return last;
  };
}

interface Work {
  readonly done: number;
  readonly total: number;
  readonly pass: number;
  readonly note: string | undefined;
  readonly records: number;
}

/** Undefined while nobody knows. */
function workOf({ tasks, sums, rounds, passes }: Standing): Work | undefined {
  if (tasks !== undefined && sums !== undefined) {
    const { pass, total, done, discarded } = tasks;
    const finished = pass * total + done + discarded;
    return { done: finished, total: passes * total, pass, note: `task ${done}/${total}`, records: sums.read };
  }
  const { round, total = 1, pass, ofPass, records } = rounds ?? {};
  if (round === undefined || pass === undefined || records === undefined) return undefined;
  return { done: round, total, pass, note: ofPass && `round ${ofPass.round}/${ofPass.rounds}`, records };
}

function lossNote({ trainers }: Standing): string | undefined {
  const losses = Object.values(trainers)
    .map(({ loss }) => loss)
    .filter((loss) => loss !== undefined);
  if (losses.length === 0) return undefined;
  return `loss ${(losses.reduce((sum, loss) => sum + loss, 0) / losses.length).toFixed(4)}`;
}
