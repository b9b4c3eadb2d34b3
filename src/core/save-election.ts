/**
 * Who writes the merged model after a pass (seeds/distributed-training.en.md, "RequestSaveModel"): of the trainers that ask,
 * one is chosen for a block time, in which nobody else is. It may ask again to keep the choice; when it falls silent, the
 * next one that asks is chosen.
 *
 * The model after the last pass is the final one, so it is wanted only while training stands at its end: not while what a
 * restored pserver lost is worked again. Each choice has a number; what was read for a choice before that end is not taken.
 * Pure; time is an argument.
 */
export interface SavedElection {
  /** Passes whose model is written: all below this. */
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
  /** To be stored before the answer goes. */
  readonly changed: boolean;
}

export interface SaveElection {
  request(trainer: string, blockMs: number, now: number): SaveAnswer;
  /** Asks to keep that choice, for another block time: none when another was chosen since, or nobody is to write it any more. */
  keep(choice: number, now: number): SaveAnswer;
  /** The model is written by that choice. False when that is no news, or not what is wanted. */
  wrote(pass: number, choice: number): boolean;
  /** The chosen one could not write it: somebody else may at once. False when it is not the chosen one. */
  failed(choice: number): boolean;
  /** So many have ended. The last one counts when training has, too. */
  passesEnded(passes: number): void;
  /** The model is final. */
  trained(): void;
  /** It is not: what a pserver lost is worked again. What was saved of the last pass is to be saved again. */
  overtaken(): void;
  /** There is a pass to save and nobody chosen. */
  isWanted(now: number): boolean;
  /** When the block time of the chosen one ends. */
  nextDeadline(): number | undefined;
  state(): SavedElection;
}

export interface SaveElectionOptions {
  /** What the last master stored. */
  readonly from: SavedElection | undefined;
  /** Of the job. */
  readonly passes: number;
  /** So many have ended. */
  readonly ended: number;
  readonly at: number;
}

const NOBODY: SaveAnswer = { chosen: undefined, changed: false };

/** A new master gives the chosen one its whole block time anew: clocks of two masters cannot be compared. */
export function createSaveElection({ from, passes, ended: endedBefore, at }: SaveElectionOptions): SaveElection {
  const unfinal = (pass: number): number => Math.min(pass, passes - 1);
  let ended = unfinal(endedBefore);
  // A pserver may have been restored while there was no master.
  let saved = unfinal(from?.saved ?? 0);
  let choices = from?.choices ?? 0;
  let chosen = from?.chosen && { ...from.chosen, until: at + from.chosen.blockMs };
  /** Choices up to this one may have read a model that was not final. */
  let early = choices;

  const isBlocked = (now: number): boolean => chosen !== undefined && now < chosen.until;
  const forgetLast = (): void => {
    if (chosen?.pass === passes) chosen = undefined;
  };
  const renew = (blockMs: number, now: number): SaveAnswer => {
    const before = chosen!;
    chosen = { ...before, blockMs, until: now + blockMs };
    return { chosen: { pass: before.pass, choice: before.choice }, changed: before.blockMs !== blockMs };
  };
  forgetLast();

  return {
    request(trainer, blockMs, now) {
      if (chosen?.trainer === trainer) return renew(blockMs, now);
      if (isBlocked(now) || ended <= saved) return NOBODY;
      choices += 1;
      // What the passes before left is gone: the newest is what there is to save.
      const choice = { pass: ended, choice: choices };
      chosen = { trainer, ...choice, blockMs, until: now + blockMs };
      return { chosen: choice, changed: true };
    },
    keep: (choice, now) => (chosen?.choice === choice ? renew(chosen.blockMs, now) : NOBODY),
    wrote(pass, choice) {
      // Also by one whose time was over: its file is whole, and of that pass.
      if (pass <= saved || pass > ended || (pass === passes && choice <= early)) return false;
      saved = pass;
      if (chosen !== undefined && chosen.pass <= saved) chosen = undefined;
      return true;
    },
    failed(choice) {
      if (chosen?.choice !== choice) return false;
      chosen = undefined;
      return true;
    },
    passesEnded(now) {
      ended = Math.max(ended, unfinal(now));
    },
    trained() {
      ended = passes;
      early = choices;
    },
    overtaken() {
      ended = unfinal(ended);
      saved = unfinal(saved);
      forgetLast();
    },
    isWanted: (now) => ended > saved && !isBlocked(now),
    nextDeadline: () => chosen?.until,
    state: () => {
      if (chosen === undefined) return { saved, choices };
      const { until: _, ...kept } = chosen;
      return { saved, choices, chosen: kept };
    },
  };
}
