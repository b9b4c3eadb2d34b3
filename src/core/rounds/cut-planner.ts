/**
 * When the master of a job in sync mode has the pservers save, and which round they save (docs/modes.md, "Cuts"):
 * one that none of them has passed when it hears of it, so the further ahead the faster the rounds go. A pserver that
 * was past it declines; then it is announced again, further ahead. One cut at a time.
 *
 * A pure machine: `step(event, now)` answers with the cut to take now.
 */
import { unreachable } from '../../base/assert.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';

export interface CutPlannerOptions {
  readonly intervalMs: number | undefined;
  readonly everyPasses: number | undefined;
  readonly everyRounds: number | undefined;
  /** To go back to round 0 takes files of another job: the first cut is taken as soon as a round is done. */
  readonly isFirstUrgent: boolean;
  /** Where training halts: after all rounds of the job, or before. The cut of that round is not planned here. */
  readonly until: number;
  /** The first round of that pass, and the pass of that round. */
  readonly firstOf: (pass: number) => number;
  readonly passOf: (round: number) => number;
  /** The round of the last complete cut. */
  readonly last: number;
}

export type CutEvent =
  /** The highest version that a pserver has; comes periodically even while nothing moves. */
  | { readonly type: 'rounds'; readonly highest: number }
  /** A cut was requested. */
  | { readonly type: 'asked' }
  /** Training continues to that round. */
  | { readonly type: 'goOn'; readonly until: number }
  | { readonly type: 'completed'; readonly round: number }
  /** `passed`: a pserver was past the round. */
  | { readonly type: 'declined'; readonly passed: boolean }
  /** It could not be written: tried again after a pause that doubles, or when the next is due. */
  | { readonly type: 'failed'; readonly round: number }
  /** All pservers were set back to that cut; the one that was being taken is abandoned. */
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
/** Pauses before a cut that could not be written is taken again. */
const TRY_AGAIN: Backoff = { firstMs: 1_000, capMs: 30_000 };

export const createCutPlanner = (options: CutPlannerOptions, startedAt: number): CutPlanner =>
  new Planner(options, startedAt);

class Planner implements CutPlanner {
  readonly #options: CutPlannerOptions;
  #samples: readonly { readonly at: number; readonly highest: number }[] = [];
  /** What `everyPasses` and `everyRounds` count from. */
  #from: number;
  /** The round of the last complete cut. */
  #last: number;
  #until: number;
  #intervalAt: number;
  /** Cuts in a row that could not be written, and when the next try is due. */
  #failures = 0;
  #againAt = Number.POSITIVE_INFINITY;
  #isRunning = false;
  #isAsked = false;
  #declines = 0;
  /** False after a cut that was declined, until the next sample says how far the rounds are. */
  #isFresh = false;

  constructor(options: CutPlannerOptions, startedAt: number) {
    this.#options = options;
    this.#from = options.last;
    this.#last = options.last;
    this.#until = options.until;
    this.#intervalAt = startedAt + (options.intervalMs ?? Number.POSITIVE_INFINITY);
  }

  step(event: CutEvent, now: number): PlannedCut | undefined {
    this.#handle(event, now);
    const cut = this.#decide(now);
    if (cut !== undefined) this.#isRunning = true;
    return cut;
  }

  #handle(event: CutEvent, now: number): void {
    switch (event.type) {
      case 'rounds':
        this.#observe(event.highest, now);
        return;
      case 'asked':
        this.#isAsked = true;
        return;
      case 'goOn':
        this.#until = event.until;
        return;
      case 'completed':
        this.#last = event.round;
        this.#failures = 0;
        this.#againAt = Number.POSITIVE_INFINITY;
        this.#ended(event.round, now);
        return;
      case 'failed':
        this.#againAt = now + backoffMs(this.#failures, TRY_AGAIN);
        this.#failures += 1;
        this.#ended(event.round, now);
        return;
      case 'declined':
        this.#isRunning = false;
        this.#isFresh = false;
        if (event.passed) this.#declines += 1;
        return;
      case 'rolledBack':
        // A request for a cut stays open.
        this.#isRunning = false;
        this.#isFresh = false;
        this.#samples = [];
        this.#from = event.round;
        this.#last = event.round;
        return;
      default:
        unreachable(event);
    }
  }

  #observe(highest: number, now: number): void {
    this.#samples = [...this.#samples.filter(({ at }) => at >= now - WINDOW_MS), { at: now, highest }];
    this.#isFresh = true;
  }

  #ended(round: number, now: number): void {
    this.#isRunning = false;
    this.#isAsked = false;
    this.#declines = 0;
    this.#from = round;
    this.#intervalAt = now + (this.#options.intervalMs ?? Number.POSITIVE_INFINITY);
  }

  #decide(now: number): PlannedCut | undefined {
    const { intervalMs } = this.#options;
    const until = this.#until;
    const highest = this.#samples.at(-1)?.highest;
    if (this.#isRunning || !this.#isFresh || highest === undefined) return undefined;
    const step = this.#ahead();
    if (this.#isAsked) return { round: Math.min(highest + step, until), why: 'asked for' };
    if (this.#isFirstDue(highest)) return before(until, { round: highest + step, why: 'the first after a warm start' });
    if (now >= this.#intervalAt) {
      // What has not changed since need not be saved again.
      if (highest === this.#last) this.#intervalAt = now + intervalMs!;
      else return before(until, { round: highest + step, why: 'the interval' });
    }
    if (now >= this.#againAt) return before(until, { round: highest + step, why: 'the last one was not written' });
    const wanted = this.#nextWanted();
    if (wanted === undefined || highest + 2 * step < wanted.round) return undefined;
    return before(until, { ...wanted, round: Math.max(wanted.round, highest + step) });
  }

  /** Nothing can go back to a cut of round 0. After one that was not written, `#againAt` says when. */
  #isFirstDue(highest: number): boolean {
    return this.#options.isFirstUrgent && this.#last === 0 && highest > 0 && this.#failures === 0;
  }

  /** How many rounds ahead of the highest version is safe; none while nothing moves. */
  #ahead(): number {
    const [first] = this.#samples;
    const newest = this.#samples.at(-1)!;
    const perMs = (newest.highest - first!.highest) / Math.max(1, newest.at - first!.at);
    const enough = perMs === 0 ? 0 : Math.max(LEAST_AHEAD, Math.ceil(perMs * LEAD_MS));
    const factor = 2 ** Math.min(this.#declines, MOST_DOUBLINGS);
    return enough * factor + factor - 1;
  }

  /** The next round at which one is wanted, by what the job says. */
  #nextWanted(): PlannedCut | undefined {
    const { firstOf, passOf, everyPasses, everyRounds } = this.#options;
    const wanted: PlannedCut[] = [];
    if (everyPasses !== undefined) {
      const pass = passOf(this.#from) + everyPasses;
      wanted.push({ round: firstOf(pass), why: `${pass} passes are complete` });
    }
    if (everyRounds !== undefined) {
      wanted.push({ round: this.#from + everyRounds, why: `${everyRounds} rounds after the last` });
    }
    return wanted.sort((a, b) => a.round - b.round)[0];
  }
}

/** The round at which training halts has a separate cut. */
const before = (until: number, cut: PlannedCut): PlannedCut | undefined => (cut.round < until ? cut : undefined);
