/** From what the master says to what a person wants to see: position, loss, speed, time left. */
import type { DirectingInfo } from '../../cluster/info.ts';
import { durationText, type Note } from '../base/fit.ts';

export interface JobProgress {
  readonly done: number;
  readonly total: number;
  readonly notes: readonly Note[];
}

/** Where there is no room for all, those with the lowest rank go first. */
const noteOf = (rank: number, text: string | undefined): Note[] => (text === undefined ? [] : [{ text, rank }]);

/** Remembers the rate; `now` in milliseconds on a monotonic clock. */
export function createProgressMeter(): (info: DirectingInfo, now: number) => JobProgress {
  let first: { records: number; atMs: number } | undefined;
  let last: JobProgress = { done: 0, total: 1, notes: [] };
  return (info, now) => {
    const { passes, phase } = info;
    if (phase === 'evaluating') {
      // The bar is about training, and stays full.
      const { done, total } = info.evaluation ?? { done: 0, total: 1 };
      return { done: 1, total: 1, notes: [{ text: `evaluating on the test files: task ${done}/${total}`, rank: 0 }] };
    }
    if (phase === 'concluding') return { done: 1, total: 1, notes: [{ text: 'writing final checkpoints', rank: 0 }] };
    const position = positionOf(info);
    if (position === undefined) return last;
    // Records go down when a job in sync mode is set back.
    if (first === undefined || position.records < first.records) first = { records: position.records, atMs: now };
    const rate = (position.records - first.records) / Math.max((now - first.atMs) / 1000, 0.001);
    const secondsLeft = (passes * info.records - position.records) / rate;
    const isMoving = rate > 0 && Number.isFinite(secondsLeft);
    const { done, total } = position;
    const notes = [
      noteOf(5, `pass ${Math.min(position.pass + 1, passes)}/${passes}`),
      noteOf(1, position.note),
      noteOf(3, lossNote(info)),
      noteOf(2, rate > 0 ? `${Math.round(rate).toLocaleString('en')} records/s` : undefined),
      noteOf(4, isMoving ? `${durationText(secondsLeft)} left` : undefined),
    ];
    last = { done, total, notes: notes.flat() };
    return last;
  };
}

/** `done` of `total` tasks or rounds of the whole job. */
interface Position {
  readonly done: number;
  readonly total: number;
  readonly pass: number;
  readonly note: string | undefined;
  readonly records: number;
}

/** Undefined while the position is not known. */
function positionOf(info: DirectingInfo): Position | undefined {
  const { passes } = info;
  if (info.mode === 'async') {
    const { pass, total, done, discarded } = info.tasks;
    const finished = pass * total + done + discarded;
    return { done: finished, total: passes * total, pass, note: `task ${done}/${total}`, records: info.sums.read };
  }
  const { round, total, pass, ofPass, records } = info.rounds;
  if (round === undefined || pass === undefined || records === undefined) return undefined;
  return { done: round, total, pass, note: ofPass && `round ${ofPass.round}/${ofPass.rounds}`, records };
}

function lossNote({ trainers }: DirectingInfo): string | undefined {
  const losses = Object.values(trainers)
    .map(({ loss }) => loss)
    .filter((loss) => loss !== undefined);
  if (losses.length === 0) return undefined;
  return `loss ${(losses.reduce((sum, loss) => sum + loss, 0) / losses.length).toFixed(4)}`;
}
