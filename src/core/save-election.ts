/**
 * Which trainer writes the merged model after a pass (seeds/distributed-training.en.md, "RequestSaveModel"). Of the
 * trainers that ask, one is chosen for a block time, in which no other can be. It may ask again to keep the choice;
 * when it falls silent or its registration ends, the next trainer that asks is chosen. One choice lasts for
 * `LIMITS.saveModelMs` in all. The trainer that has not written the model by then is passed over for a while, so that
 * another one is chosen first.
 *
 * The model after the last pass is the final one. It is wanted only when training has ended, and not while the work
 * that a restored pserver lost is replayed. Choices are numbered: a final model that was read for an earlier choice is
 * refused. Pure; time is an argument.
 */
import { LIMITS } from '../base/limits.ts';

export interface SavedElection {
  /** The models of the passes up to this one are written, or superseded. */
  readonly saved: number;
  /** Choices so far: the number of the newest. */
  readonly choices: number;
  readonly chosen?: SavedChoice | undefined;
}

export interface SavedChoice {
  readonly trainer: string;
  /** Counted from 1. */
  readonly pass: number;
  readonly choice: number;
  readonly blockMs: number;
}

export interface SaveAnswer {
  readonly chosen: Pick<SavedChoice, 'pass' | 'choice'> | undefined;
  /** The state has changed: it must be stored before the answer is sent. */
  readonly changed: boolean;
}

export interface SaveElection {
  request(trainer: string, blockMs: number, now: number): SaveAnswer;
  /**
   * Extends that choice by a block time. Not chosen when it is not the newest choice, its model is not wanted any
   * more, or its whole time is over.
   */
  keep(choice: number, now: number): SaveAnswer;
  /** The model of that choice is written. False when it was known to be written, or is not wanted. */
  wrote(pass: number, choice: number): boolean;
  /**
   * That choice could not write the model: another trainer can be chosen at once. False when it is not the newest
   * choice.
   */
  failed(choice: number): boolean;
  /** The registration of that trainer has ended. False when it is not chosen. */
  gone(trainer: string): boolean;
  /** The choice whose whole time is over, and which has failed by that. */
  overdue(now: number): SavedChoice | undefined;
  /** The number of passes that have ended. The last pass counts only after `trained`. */
  passesEnded(passes: number): void;
  /** The model is final. */
  trained(): void;
  /**
   * The model is not final any more, as the work that a pserver lost is replayed: the last pass is to be saved again.
   */
  overtaken(): void;
  /** There is a pass to save, and no trainer is chosen. */
  isWanted(now: number): boolean;
  /** When the block time of the choice ends. */
  nextDeadline(): number | undefined;
  state(): SavedElection;
}

export interface SaveElectionOptions {
  /** The state that the last master stored. */
  readonly from: SavedElection | undefined;
  /** Passes of the job. */
  readonly passes: number;
  /** Passes that have ended. */
  readonly ended: number;
  /** The present time, in the milliseconds of `now`. */
  readonly at: number;
  /** The longest block time. */
  readonly maxBlockMs: number;
}

const NOT_CHOSEN: SaveAnswer = { chosen: undefined, changed: false };

/** A new master grants the choice a full block time again: the clocks of two masters cannot be compared. */
export function createSaveElection(options: SaveElectionOptions): SaveElection {
  const { from, passes, ended: endedBefore, at, maxBlockMs } = options;
  const withoutLast = (pass: number): number => Math.min(pass, passes - 1);
  let ended = withoutLast(endedBefore);
  // A pserver may have been restored while no master was running.
  let saved = withoutLast(from?.saved ?? 0);
  let choices = from?.choices ?? 0;
  const begin = (choice: SavedChoice, now: number) => {
    const blockMs = Math.min(choice.blockMs, maxBlockMs);
    return { ...choice, blockMs, until: now + blockMs, endMs: now + LIMITS.saveModelMs };
  };
  let chosen = from?.chosen && begin(from.chosen, at);
  let passedOver: { readonly trainer: string; readonly until: number } | undefined;
  /** Choices up to this one may have read a model that was not final. */
  let lastEarlyChoice = choices;

  const isBlocked = (now: number): boolean => chosen !== undefined && now < chosen.until;
  const isPassedOver = (trainer: string, now: number): boolean =>
    passedOver?.trainer === trainer && now < passedOver.until;
  const forget = (isIt: boolean): boolean => {
    if (isIt) chosen = undefined;
    return isIt;
  };
  const forgetLast = (): void => {
    if (chosen?.pass === passes) chosen = undefined;
  };
  const renew = (blockMs: number, now: number): SaveAnswer => {
    const before = chosen!;
    chosen = { ...before, blockMs, until: Math.min(now + blockMs, before.endMs) };
    return { chosen: { pass: before.pass, choice: before.choice }, changed: before.blockMs !== blockMs };
  };
  forgetLast();

  return {
    request(trainer, blockMs, now) {
      if (chosen?.trainer === trainer && now < chosen.endMs) return renew(blockMs, now);
      if (isBlocked(now) || isPassedOver(trainer, now) || ended <= saved) return NOT_CHOSEN;
      choices += 1;
      // The parameters after earlier passes are gone: only the newest pass can be saved.
      const choice = { pass: ended, choice: choices };
      chosen = begin({ trainer, ...choice, blockMs }, now);
      return { chosen: choice, changed: true };
    },
    keep: (choice, now) => (chosen?.choice === choice && now < chosen.endMs ? renew(chosen.blockMs, now) : NOT_CHOSEN),
    wrote(pass, choice) {
      // Even when the block time of that choice is over: its file is complete, and of that pass.
      if (pass <= saved || pass > ended || (pass === passes && choice <= lastEarlyChoice)) return false;
      saved = pass;
      if (chosen !== undefined && chosen.pass <= saved) chosen = undefined;
      return true;
    },
    failed: (choice) => forget(chosen?.choice === choice),
    gone: (trainer) => forget(chosen?.trainer === trainer),
    overdue(now) {
      if (chosen === undefined || now < chosen.endMs) return undefined;
      const { until: _, endMs: __, ...overdue } = chosen;
      chosen = undefined;
      passedOver = { trainer: overdue.trainer, until: now + maxBlockMs };
      return overdue;
    },
    passesEnded(now) {
      ended = Math.max(ended, withoutLast(now));
    },
    trained() {
      ended = passes;
      lastEarlyChoice = choices;
    },
    overtaken() {
      ended = withoutLast(ended);
      saved = withoutLast(saved);
      forgetLast();
    },
    isWanted: (now) => ended > saved && !isBlocked(now),
    nextDeadline: () => chosen?.until,
    state: () => {
      if (chosen === undefined) return { saved, choices };
      const { until: _, endMs: __, ...kept } = chosen;
      return { saved, choices, chosen: kept };
    },
  };
}
