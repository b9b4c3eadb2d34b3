/**
 * When the master of a job in sync mode has the pservers save, and which round they save (DESIGN §6, "Cuts"): one that none
 * of them has passed when it hears of it, so the further ahead the faster the rounds go. A pserver that was past it declines;
 * then it is announced anew, further ahead. One cut at a time.
 *
 * A pure machine: `step(event, now)` answers with the cut to take now.
 */
import { unreachable } from '../../base/assert.ts';

export interface CutPlannerOptions {
  readonly intervalMs: number | undefined;
  readonly everyPasses: number | undefined;
  readonly everyRounds: number | undefined;
  /** All rounds of the job. The cut at its end is not planned here. */
  readonly rounds: number;
  /** The first round of that pass, and the pass of that round. */
  readonly firstOf: (pass: number) => number;
  readonly passOf: (round: number) => number;
  /** The round of the last complete cut. */
  readonly last: number;
}

export type CutEvent =
  /** The highest version that a pserver has; comes now and again also while nothing moves. */
  | { readonly type: 'rounds'; readonly highest: number }
  /** Somebody wants one now. */
  | { readonly type: 'asked' }
  | { readonly type: 'completed'; readonly round: number }
  /** `passed`: a pserver was past the round. */
  | { readonly type: 'declined'; readonly passed: boolean }
  /** It could not be written: not again before the next occasion. */
  | { readonly type: 'failed'; readonly round: number }
  /** All pservers were set back to that cut; the one that was being taken is given up. */
  | { readonly type: 'rolledBack'; readonly round: number };

export interface PlannedCut {
  readonly round: number;
  readonly why: string;
}

export interface CutPlanner {
  /** `now` is on any clock that does not go back. */
  step(event: CutEvent, now: number): PlannedCut | undefined;
}

/** So much time the announcement is given to arrive everywhere. */
const LEAD_MS = 250;
const LEAST_AHEAD = 2;
/** The speed is that of so much time. */
const WINDOW_MS = 1_000;
const MOST_DOUBLINGS = 10;

export function createCutPlanner(options: CutPlannerOptions, startedAt: number): CutPlanner {
  const { rounds, firstOf, passOf, everyPasses, everyRounds, intervalMs } = options;
  let samples: { readonly at: number; readonly highest: number }[] = [];
  /** What `everyPasses` and `everyRounds` count from. */
  let from = options.last;
  let last = options.last;
  let intervalAt = startedAt + (intervalMs ?? Number.POSITIVE_INFINITY);
  let isRunning = false;
  let isAsked = false;
  let declines = 0;
  /** After a cut that was declined, only what is seen then says where the rounds are. */
  let isFresh = false;

  function saw(highest: number, now: number): void {
    samples = samples.filter(({ at }) => at >= now - WINDOW_MS);
    samples.push({ at: now, highest });
    isFresh = true;
  }

  /** How many rounds ahead of the highest version is safe; none while nothing moves. */
  function ahead(): number {
    const [first] = samples;
    const newest = samples.at(-1)!;
    const perMs = (newest.highest - first!.highest) / Math.max(1, newest.at - first!.at);
    const enough = perMs === 0 ? 0 : Math.max(LEAST_AHEAD, Math.ceil(perMs * LEAD_MS));
    const factor = 2 ** Math.min(declines, MOST_DOUBLINGS);
    return enough * factor + factor - 1;
  }

  /** The next round at which one is wanted, by what the job says. */
  function nextWanted(): PlannedCut | undefined {
    const wanted: PlannedCut[] = [];
    if (everyPasses !== undefined) {
      const pass = passOf(from) + everyPasses;
      wanted.push({ round: firstOf(pass), why: `${pass} passes are complete` });
    }
    if (everyRounds !== undefined) {
      wanted.push({ round: from + everyRounds, why: `${everyRounds} rounds after the last` });
    }
    return wanted.sort((a, b) => a.round - b.round)[0];
  }

  function decide(now: number): PlannedCut | undefined {
    const highest = samples.at(-1)?.highest;
    if (isRunning || !isFresh || highest === undefined) return undefined;
    const step = ahead();
    if (isAsked) return { round: Math.min(highest + step, rounds), why: 'asked for' };
    if (now >= intervalAt) {
      // What has not changed since need not be saved again.
      if (highest === last) intervalAt = now + intervalMs!;
      else return before(rounds, { round: highest + step, why: 'the interval' });
    }
    const wanted = nextWanted();
    if (wanted === undefined || highest + 2 * step < wanted.round) return undefined;
    return before(rounds, { ...wanted, round: Math.max(wanted.round, highest + step) });
  }

  function handle(event: CutEvent, now: number): void {
    switch (event.type) {
      case 'rounds':
        saw(event.highest, now);
        return;
      case 'asked':
        isAsked = true;
        return;
      case 'completed':
        last = event.round;
        ended(event.round, now);
        return;
      case 'failed':
        ended(event.round, now);
        return;
      case 'declined':
        isRunning = false;
        isFresh = false;
        if (event.passed) declines += 1;
        return;
      case 'rolledBack':
        // Whoever asked still wants one.
        isRunning = false;
        isFresh = false;
        samples = [];
        from = event.round;
        last = event.round;
        return;
      default:
        unreachable(event);
    }
  }

  function ended(round: number, now: number): void {
    isRunning = false;
    isAsked = false;
    declines = 0;
    from = round;
    intervalAt = now + (intervalMs ?? Number.POSITIVE_INFINITY);
  }

  return {
    step(event, now) {
      handle(event, now);
      const cut = decide(now);
      if (cut !== undefined) isRunning = true;
      return cut;
    },
  };
}

/** The end has a cut of its own. */
const before = (rounds: number, cut: PlannedCut): PlannedCut | undefined => (cut.round < rounds ? cut : undefined);
