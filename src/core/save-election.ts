/**
 * Who writes the merged model after a pass (seeds/distributed-training.en.md, "RequestSaveModel"): of the trainers that ask,
 * one is chosen for a block time, in which nobody else is. It may ask again to keep the choice; when it falls silent, the
 * next one that asks is chosen. Pure; time is an argument.
 */
export interface SavedElection {
  /** Passes whose model is written: all below this. */
  readonly saved: number;
  readonly chosen?: { readonly trainer: string; readonly pass: number; readonly blockMs: number } | undefined;
}

export interface SaveElection {
  /** The number of the pass to save, counted from 1, for the one that is chosen. `changed`: to be stored before the answer goes. */
  request(
    trainer: string,
    blockMs: number,
    now: number,
  ): { readonly pass: number | undefined; readonly changed: boolean };
  /** The model of that pass is written. False when that is no news. */
  wrote(trainer: string, pass: number): boolean;
  /** The chosen one could not write it: somebody else may at once. False when it is not the chosen one. */
  failed(trainer: string, pass: number): boolean;
  passesEnded(passes: number): void;
  /** The model has changed since: what was saved from this pass on is to be saved again. */
  redo(pass: number): void;
  /** There is a pass to save and nobody chosen. */
  isWanted(now: number): boolean;
  /** When the block time of the chosen one ends. */
  nextDeadline(): number | undefined;
  state(): SavedElection;
}

/** A new master gives the chosen one its whole block time anew: clocks of two masters cannot be compared. */
export function createSaveElection(from: SavedElection | undefined, passes: number, at: number): SaveElection {
  let ended = passes;
  let saved = from?.saved ?? 0;
  let chosen = from?.chosen && { ...from.chosen, until: at + from.chosen.blockMs };

  const isBlocked = (now: number): boolean => chosen !== undefined && now < chosen.until;

  return {
    request(trainer, blockMs, now) {
      if (isBlocked(now) && chosen?.trainer !== trainer) return { pass: undefined, changed: false };
      if (chosen?.trainer === trainer && chosen.pass > saved) {
        const changed = chosen.blockMs !== blockMs;
        chosen = { ...chosen, blockMs, until: now + blockMs };
        return { pass: chosen.pass, changed };
      }
      if (ended <= saved) return { pass: undefined, changed: false };
      // What the passes before left is gone: the newest is what there is to save.
      chosen = { trainer, pass: ended, blockMs, until: now + blockMs };
      return { pass: ended, changed: true };
    },
    wrote(_trainer, pass) {
      // Also by one whose time was over: its file is whole, and of that pass.
      if (pass <= saved || pass > ended) return false;
      saved = pass;
      if (chosen !== undefined && chosen.pass <= saved) chosen = undefined;
      return true;
    },
    failed(trainer, pass) {
      if (chosen?.trainer !== trainer || chosen.pass !== pass) return false;
      chosen = undefined;
      return true;
    },
    passesEnded(passes) {
      ended = Math.max(ended, passes);
    },
    redo(pass) {
      saved = Math.min(saved, pass - 1);
      chosen = undefined;
    },
    isWanted: (now) => ended > saved && !isBlocked(now),
    nextDeadline: () => chosen?.until,
    state: () => {
      if (chosen === undefined) return { saved };
      const { trainer, pass, blockMs } = chosen;
      return { saved, chosen: { trainer, pass, blockMs } };
    },
  };
}
