/** What holds training up while all processes are there: failures, slow processes, bounds and barriers. Pure. */
import { counted } from '../../base/counted.ts';
import { shortId } from '../../cluster/trainer-entry.ts';
import { directingInfo, type JobStatus } from '../describe-job.ts';
import type { DirectingInfo, PserverInfo, TrainerInfo } from '../info.ts';
import { type Cause, listed, oneLine, seconds, workOf } from './cause.ts';

type Seen = Pick<JobStatus, 'record' | 'processes'>;
type WorkingTrainer = Extract<TrainerInfo, { state: 'working' }>;

/** A failure that is older has been followed by other work. */
const RECENT_FAILURE_MS = 20_000;
/** What lasts so long is worth a word. */
const LONG_MS = 2_000;
/** A pserver is slow if it takes this many times longer than the quickest, and at least `SLOW_MS`. */
const SLOW_FACTOR = 5;
const SLOW_MS = 100;
/** Slowness limit if there is no other pserver to compare with. */
const SLOW_ALONE_MS = 1_000;

export function failureCauses(seen: Seen): Cause[] {
  const failures = directingInfo(seen)?.failures ?? [];
  return failures
    .filter(({ agoMs }) => agoMs < RECENT_FAILURE_MS)
    .map(({ trainer, what, code, error, times }) => {
      const again = times === 1 ? '' : `, ${times} times in a row`;
      return {
        kind: 'data',
        sentence: `Trainer ${shortId(trainer)} failed at ${what}${again}: ${code}: ${oneLine(error)}.`,
        hint:
          code === 'DataMissing' ? 'give the trainer the data folder with --data-dir' : 'read the log of this trainer',
      };
    });
}

/** Slow pservers, according to the times that trainers measure. */
export function slowPserverCauses(seen: Seen): Cause[] {
  const trainers = workingTrainers(seen);
  const byIndex = new Map<number, number>();
  for (const { pserverAnswers = [] } of trainers) {
    for (const { index, meanMs, waitedMs } of pserverAnswers) {
      byIndex.set(index, Math.max(byIndex.get(index) ?? 0, meanMs, waitedMs));
    }
  }
  const quickest = Math.min(...byIndex.values());
  const isSlow = (ms: number): boolean =>
    byIndex.size > 1 ? ms >= SLOW_MS && ms >= SLOW_FACTOR * quickest : ms >= SLOW_ALONE_MS;
  return [...byIndex]
    .filter(([, ms]) => isSlow(ms))
    .sort(([, a], [, b]) => b - a)
    .map(([index, ms]) => {
      const others = byIndex.size > 1 ? `, and ${quickest} ms for those of the quickest` : '';
      return {
        kind: 'slowPserver',
        sentence: `Pserver ${index} is slow: trainers wait ${ms} ms for its answers${others}.`,
        hint: 'check the load of its machine, its disk and the network to it',
      };
    });
}

export function stalenessCauses(seen: Seen): Cause[] {
  const { staleness } = seen.record.job.training;
  return pserversOf(seen).flatMap((info): Cause[] => {
    const heldUp = info.mode === 'async' ? info.staleness.heldUp : undefined;
    if (heldUp === undefined || heldUp.longestMs < LONG_MS) return [];
    const holders = heldUp.holders.toSorted((a, b) => b.silentMs - a.silentMs);
    const [slowest] = holders;
    if (slowest === undefined) return [];
    const work = workOf(directingInfo(seen), slowest.trainer);
    const which = work === undefined ? '' : `, with ${work}`;
    const waits = `${counted(heldUp.pulls, 'pull')} wait${heldUp.pulls === 1 ? 's' : ''}`;
    return [
      {
        kind: 'staleness',
        sentence:
          `Trainer ${shortId(slowest.trainer)} has pushed nothing for ${seconds(slowest.silentMs)}${which}: ` +
          `${waits} at the staleness bound of ${staleness?.bound}.`,
        hint: 'raise training.staleness.bound to let the other trainers continue',
      },
    ];
  });
}

/** Sync mode: the lanes that the round waits for, and what their trainers do. */
export function barrierCauses(seen: Seen): Cause[] {
  const master = directingInfo(seen);
  if (master?.mode !== 'sync' || master.phase !== 'training') return [];
  const { pservers, round, missing } = master.rounds;
  const waiting = pservers.filter((one) => one.version === round && one.missing.length > 0);
  const waitedMs = Math.min(...waiting.map((one) => one.waitedMs));
  const [first] = missing;
  if (first === undefined || waiting.length === 0 || waitedMs < LONG_MS) return [];
  const trainer = first.trainers[0];
  const more = missing.length > 1 ? ` and other lanes` : '';
  const who = trainer === undefined ? 'a trainer' : `trainer ${shortId(trainer)}${phaseText(seen, trainer)}`;
  return [
    {
      kind: 'barrier',
      sentence: `Round ${round} waits ${seconds(waitedMs)} for ${who}: ${first.what}${more}.`,
      hint: 'if another trainer is free, the master hands the late lane to that trainer as well',
    },
  ];
}

/** Async mode: trainers with attempts that take far longer than tasks do, each with its oldest one. */
export function slowTrainerCauses(seen: Seen): Cause[] {
  const master = directingInfo(seen);
  if (master?.mode !== 'async') return [];
  const slowest = master.attempts.filter(({ slow }) => slow).sort((a, b) => b.ageMs - a.ageMs);
  return slowest
    .filter(({ trainer }, at) => slowest.findIndex((other) => other.trainer === trainer) === at)
    .map(({ trainer, ageMs }) => ({
      kind: 'slowTrainer',
      sentence:
        `Trainer ${shortId(trainer)} is slow${phaseText(seen, trainer)}: ` +
        `it has ${workOf(master, trainer)}, for ${seconds(ageMs)}.`,
    }));
}

/** Nothing else is seen: the trainer that has been at the same work for longest, or what the master says. */
export function workCauses(seen: Seen): Cause[] {
  const master = directingInfo(seen);
  if (master === undefined || master.quietMs < longQuietMs(seen)) return [];
  const quiet = `No trainer has reported a record for ${seconds(master.quietMs)}`;
  const slowest = executing(master, seen);
  if (slowest === undefined) return [{ kind: 'work', sentence: `${quiet}: ${oneLine(master.waitReason)}.` }];
  const what = workOf(master, slowest.id);
  const has = what === undefined ? '' : `, with ${what}`;
  const { phase } = slowest;
  const sentence = `${quiet}: trainer ${shortId(slowest.id)} is in ${phase} for ${seconds(phaseMsOf(slowest))}${has}.`;
  return [{ kind: 'work', sentence }];
}

/** Steps of large mini-batches take their time: several of them are waited for. */
const PATIENCE_STEPS = 5;

function longQuietMs(seen: Seen): number {
  const { recordsPerSecond } = directingInfo(seen) ?? {};
  if (recordsPerSecond === undefined || recordsPerSecond === 0) return LONG_MS;
  const { batchSize, pushEvery, mode, lanes } = seen.record.job.training;
  const together = mode === 'sync' ? lanes : pushEvery * Math.max(1, workingTrainers(seen).length);
  return Math.max(LONG_MS, (PATIENCE_STEPS * 1000 * batchSize * together) / recordsPerSecond);
}

/** The longest in its current phase among the trainers that have work in async mode. */
function executing(master: DirectingInfo, seen: Seen): WorkingTrainer | undefined {
  if (master.mode !== 'async') return undefined;
  const busy = new Set(master.attempts.filter((attempt) => attempt.executing).map(({ trainer }) => trainer));
  return workingTrainers(seen)
    .filter(({ id }) => busy.has(id))
    .sort((a, b) => phaseMsOf(b) - phaseMsOf(a))[0];
}

/** 0 of a client that does not say. */
const phaseMsOf = ({ phaseMs = 0 }: WorkingTrainer): number => phaseMs;

/** ` (in pull for 12 s)`. */
function phaseText(seen: Seen, trainer: string): string {
  const info = workingTrainers(seen).find(({ id }) => id === trainer);
  if (info === undefined) return '';
  const waits = (info.pserverAnswers ?? []).filter(({ waitedMs }) => waitedMs >= LONG_MS).map(({ index }) => index);
  const of = waits.length === 0 ? '' : ` of pserver ${listed(waits)}`;
  return ` (in ${info.phase}${of} for ${seconds(phaseMsOf(info))})`;
}

function workingTrainers({ processes }: Seen): WorkingTrainer[] {
  return processes.flatMap(({ answer }) =>
    answer.kind === 'info' && answer.info.role === 'trainer' && answer.info.state === 'working' ? [answer.info] : [],
  );
}

function pserversOf({ processes }: Seen): Extract<PserverInfo, { state: 'working' }>[] {
  return processes.flatMap(({ answer }) =>
    answer.kind === 'info' && answer.info.role === 'pserver' && answer.info.state === 'working' ? [answer.info] : [],
  );
}
