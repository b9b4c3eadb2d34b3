/**
 * Takes the cuts of a job in sync mode when they are due: by the plan of `src/core/rounds/cut-planner.ts`, by request
 * and at the end: one at a time. How one is taken is in take-cut.ts.
 */

import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import { createSignal, interrupted, pauseOrAborted, unlessStopped } from '../../../cluster/waiting.ts';
import {
  type CutEvent,
  type CutPlanner,
  type CutPlannerOptions,
  createCutPlanner,
} from '../../../core/rounds/cut-planner.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import { saveIntervalMs } from '../../../job/save-interval.ts';
import type { SaveMode } from '../../../protocol/messages/to-pserver.ts';
import {
  type CutCompleted,
  type CutFailed,
  type CutOutcome,
  type LastCut,
  type TakeCutOptions,
  type TakenCut,
  takeCut,
  type WantedCut,
} from './take-cut.ts';

export type { LastCut, TakenCut } from './take-cut.ts';

export interface Cuts {
  /** The highest version of a pserver: it may be time for a cut. */
  observe(highest: number): void;
  /** A cut as soon as can be; undefined when one is being taken already. `mode`: undefined for what is due. */
  request(signal: AbortSignal, mode?: SaveMode): Promise<TakenCut | undefined>;
  /** Training continues and halts at that round; cuts of later rounds are not taken. */
  goOn(until: number): void;
  /**
   * Takes the cut of the round at which training halts, which every pserver has reached: repeated until the disks
   * accept the cut. Throws `Interrupted` if all pservers are set back.
   */
  last(signal: AbortSignal): Promise<LastCut>;
  /** Counts since this master took over. */
  counts(): { readonly complete: number; readonly givenUp: number };
  /** The round that is being saved. */
  running(): number | undefined;
}

/** How often the master repeats why the last cut is not written yet. */
const REMIND_MS = 10_000;

export interface CutsOptions extends TakeCutOptions {
  readonly plan: RoundPlan;
  /** The round at which training halts. */
  readonly until: number;
  readonly stopSignal: AbortSignal;
  readonly onFatal: (error: unknown) => void;
}

export function createCuts(options: CutsOptions): Cuts {
  const cuts = new CutTaker(options);
  cuts.start();
  return cuts;
}

class CutTaker implements Cuts {
  readonly #options: CutsOptions;
  readonly #planner: CutPlanner;
  #until: number;
  /** Notified when a cut has ended, well or not. */
  readonly #ended = createSignal();
  readonly #fatal: (error: unknown) => void;
  #timeline: number;
  #running: { readonly round: number; readonly abort: AbortController } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #requested: { readonly mode: SaveMode | undefined } | undefined;
  #ends = 0;
  #lastEnd: CutCompleted | CutFailed | undefined;
  #complete = 0;
  #givenUp = 0;

  constructor(options: CutsOptions) {
    this.#options = options;
    const { stored, context, stopSignal, onFatal } = options;
    this.#until = options.until;
    this.#planner = createCutPlanner(plannerOptions(options), context.host.clock.monotonicMs());
    this.#timeline = stored.current()?.cut.timeline ?? 0;
    this.#fatal = unlessStopped(stopSignal, onFatal);
  }

  start(): void {
    this.#followTimeline().catch(this.#fatal);
  }

  observe(highest: number): void {
    this.#step({ type: 'rounds', highest });
  }

  async request(signal: AbortSignal, mode?: SaveMode): Promise<TakenCut | undefined> {
    if (this.#running !== undefined || this.#requested !== undefined) return undefined;
    this.#requested = { mode };
    const before = this.#ends;
    const either = AbortSignal.any([signal, this.#options.stopSignal]);
    try {
      this.#step({ type: 'asked' });
      const outcome = await this.#ended.until(() => (this.#ends > before ? this.#lastEnd : undefined), either);
      if (outcome.type === 'failed') throw outcome.error;
      return outcome.taken;
    } finally {
      this.#requested = undefined;
    }
  }

  goOn(until: number): void {
    this.#until = until;
    this.#step({ type: 'goOn', until });
  }

  async last(signal: AbortSignal): Promise<LastCut> {
    const { clock, log } = this.#options.context.host;
    let loggedAtMs = Number.NEGATIVE_INFINITY;
    for (let failures = 0; ; failures++) {
      const round = this.#until;
      const outcome = await this.#announce({ round, mode: 'base' }, signal);
      if (outcome.type === 'completed') {
        this.#finish(outcome, round);
        return outcome.taken;
      }
      if (outcome.type === 'overtaken') throw interrupted();
      if (outcome.type === 'failed' && clock.monotonicMs() - loggedAtMs >= REMIND_MS) {
        loggedAtMs = clock.monotonicMs();
        log.error(`the last cut is not written yet: ${outcome.error.message}`, { hint: outcome.error.hint });
      }
      await pauseOrAborted(clock, backoffMs(failures), signal);
    }
  }

  counts(): { complete: number; givenUp: number } {
    return { complete: this.#complete, givenUp: this.#givenUp };
  }

  running(): number | undefined {
    return this.#running?.round;
  }

  #step(event: CutEvent): void {
    const { clock, log } = this.#options.context.host;
    const cut = this.#planner.step(event, clock.monotonicMs());
    if (cut === undefined) return;
    log.debug(`a cut of round ${cut.round}: ${cut.why}`);
    this.#begin(cut.round).catch(this.#fatal);
  }

  async #begin(round: number): Promise<void> {
    const { context, stopSignal } = this.#options;
    const outcome = await this.#announce({ round, mode: this.#requested?.mode }, stopSignal);
    if (outcome.type === 'failed') {
      const { message, hint } = outcome.error;
      context.host.log.error(`the cut of round ${round} was not written: ${message}`, { hint });
    }
    // `#followTimeline` submits a new timeline to the planner.
    if (outcome.type === 'declined') this.#step({ type: 'declined', passed: outcome.passed });
    else if (outcome.type !== 'overtaken') this.#finish(outcome, round);
  }

  #finish(outcome: CutCompleted | CutFailed, round: number): void {
    this.#lastEnd = outcome;
    this.#ends += 1;
    this.#ended.notify();
    this.#step({ type: outcome.type, round });
  }

  /** One at a time. */
  #announce(wanted: WantedCut, signal: AbortSignal): Promise<CutOutcome> {
    const mine = this.#turn.then(() => this.#take(wanted, signal));
    this.#turn = Promise.allSettled([mine]);
    return mine;
  }

  async #take(wanted: WantedCut, signal: AbortSignal): Promise<CutOutcome> {
    const { round } = wanted;
    const abort = new AbortController();
    this.#running = { round, abort };
    try {
      const outcome = await takeCut(this.#options, wanted, AbortSignal.any([signal, abort.signal]));
      if (outcome.type === 'completed') this.#complete += 1;
      else this.#givenUp += 1;
      return outcome;
    } catch (error) {
      if (signal.aborted || !abort.signal.aborted || !isPaddletError(error, 'Interrupted')) throw error;
      this.#options.context.host.log.warn(`the cut of round ${round} is abandoned: all pservers are being set back`);
      this.#givenUp += 1;
      return { type: 'overtaken' };
    } finally {
      this.#running = undefined;
    }
  }

  async #followTimeline(): Promise<never> {
    const { stored, stopSignal } = this.#options;
    for (;;) {
      const now = await stored.changed.until(() => {
        const cut = stored.current()?.cut;
        return cut !== undefined && cut.timeline !== this.#timeline ? cut : undefined;
      }, stopSignal);
      this.#timeline = now.timeline;
      this.#running?.abort.abort();
      this.#step({ type: 'rolledBack', round: now.round });
    }
  }
}

function plannerOptions({ record, stored, plan, until }: CutsOptions): CutPlannerOptions {
  const { passes } = record.job.training;
  const { checkpoint } = record.job;
  const { everyPasses, everyBatches } = checkpoint;
  return {
    intervalMs: saveIntervalMs(checkpoint),
    everyPasses,
    everyRounds: everyBatches === undefined ? undefined : Math.ceil(everyBatches / plan.lanes),
    isFirstUrgent: record.warmStart !== undefined,
    until,
    firstOf: (pass) => plan.firstOf(Math.min(pass, passes)),
    passOf: (round) => plan.placeOf(round)?.pass ?? passes,
    last: stored.current()?.cut.round ?? 0,
  };
}
