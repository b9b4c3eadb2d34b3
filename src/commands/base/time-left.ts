import type { DirectingInfo } from '../../cluster/info.ts';

/**
 * Until the last pass is over, at the mean speed since the master began to direct the job. Undefined while that is not
 * known, and once training is over. A job that stops early ends before.
 */
export function secondsLeft(master: DirectingInfo): number | undefined {
  const { recordsPerSecond, passes, records, phase } = master;
  if (phase !== 'training' || recordsPerSecond === undefined || recordsPerSecond === 0) return undefined;
  const done = shareDone(master);
  return done === undefined ? undefined : ((1 - done) * passes * records) / recordsPerSecond;
}

/** Fraction of all passes that is done; undefined while the position is unknown. */
export function shareDone(master: DirectingInfo): number | undefined {
  if (master.mode === 'sync') {
    const { round, total } = master.rounds;
    return round === undefined ? undefined : round / Math.max(1, total);
  }
  const { pass, total, done, discarded } = master.tasks;
  return Math.min(1, (pass * total + done + discarded) / Math.max(1, master.passes * total));
}
