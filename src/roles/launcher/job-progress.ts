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
  return (standing, now) => {
    const { tasks, passes, sums, phase } = standing;
    first ??= { read: sums.read, atMs: now };
    if (phase === 'evaluating') {
      const { done, total } = standing.evaluation ?? { done: 0, total: 1 };
      return { done, total, note: 'evaluating on the test file' };
    }
    if (phase === 'concluding') return { done: 1, total: 1, note: 'writing final checkpoints' };
    const finished = tasks.pass * tasks.total + tasks.done + tasks.discarded;
    const total = passes * tasks.total;
    const rate = (sums.read - first.read) / Math.max((now - first.atMs) / 1000, 0.001);
    const left = (passes * standing.records - sums.read) / rate;
    const notes = [
      `pass ${Math.min(tasks.pass + 1, passes)}/${passes}`,
      `task ${tasks.done}/${tasks.total}`,
      lossNote(standing),
      rate > 0 ? `${Math.round(rate).toLocaleString('en')} records/s` : undefined,
      rate > 0 && Number.isFinite(left) ? `${Math.max(0, Math.ceil(left))} s left` : undefined,
    ];
    return { done: finished, total, note: notes.filter((note) => note !== undefined).join('  ') };
  };
}

function lossNote({ trainers }: Standing): string | undefined {
  const losses = Object.values(trainers)
    .map(({ loss }) => loss)
    .filter((loss) => loss !== undefined);
  if (losses.length === 0) return undefined;
  return `loss ${(losses.reduce((sum, loss) => sum + loss, 0) / losses.length).toFixed(4)}`;
}
