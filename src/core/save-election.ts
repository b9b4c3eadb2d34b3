/**
 * Which trainer writes the merged model after a pass (seeds/distributed-training.en.md, "RequestSaveModel"). Of the
 * trainers that ask, one is chosen for a block time, in which no other can be. It may ask again to keep the choice;
 * when it falls silent or its registration ends, the next trainer that asks is chosen. One choice lasts for
 * `saveLimitMs` in all. A trainer that did not write the model for which it was chosen is chosen last from then on
 * (save-turns.ts). It then has twice the time, as its disk may be slow.
 *
 * The model after the last pass is the final one. It is wanted only when training has ended, and not while the work
 * that a restored pserver lost is replayed. Choices are numbered: a final model that was read for an earlier choice is
 * refused. Pure; time is an argument.
 */
import { LIMITS } from '../base/limits.ts';
import { SaveTurns } from './save-turns.ts';

/** For the smallest model: many times what a pause of a machine or a full cache of a disk costs. */
const BASE_MS = 60_000;
/** 2 MB/s: a tenth of what slow network disks do. The bytes have the optimizer's state too, which is not written. */
const BYTES_PER_MS = 2_000;

/**
 * How long a choice lasts, for a model of at most `bytes` bytes that its trainer has failed `failures` times to write.
 */
export const saveLimitMs = (bytes: number, failures: number): number =>
  Math.min(LIMITS.saveModelMs, (BASE_MS + bytes / BYTES_PER_MS) * 2 ** failures);

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
  /** The choice that was taken from a trainer that fell silent. */
  readonly silent?: SavedChoice;
}

export interface SaveElection {
  request(trainer: string, blockMs: number, now: number): SaveAnswer;
  /**
   * Extends that choice by a block time. Answers "not chosen" if a newer choice exists, the model is no longer wanted,
   * or the whole time of the choice is over.
   */
  keep(choice: number, now: number): SaveAnswer;
  /** The model of that choice is written. False when it was known to be written, or is not wanted. */
  wrote(pass: number, choice: number): boolean;
  /**
   * That choice could not write the model: another trainer can be chosen at once. False when it is not the newest
   * choice.
   */
  failed(choice: number): boolean;
  /** The pservers have `bytes` bytes: the choice lasts accordingly, if it is the newest. */
  sized(choice: number, bytes: number): void;
  /** These trainers are registered, and no others. */
  roster(trainers: readonly string[]): void;
  joined(trainer: string): void;
  /** The registration of that trainer has ended. False when it is not chosen. */
  gone(trainer: string): boolean;
  /** The choice whose whole time is over, and which has failed by that. */
  overdue(now: number): SavedChoice | undefined;
  /** The number of passes that have ended. The last pass counts only after `trained`. */
  passesEnded(passes: number): void;
  /** The model is final, after `passes` passes: those of the job, or fewer. */
  trained(passes: number): void;
  /** The model is no longer final, as the work that a pserver lost is replayed: the last pass is to be saved again. */
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

interface RunningChoice extends SavedChoice {
  readonly since: number;
  /** When others can be chosen, unless its trainer asks again. */
  readonly until: number;
  readonly endMs: number;
}

const asSaved = ({ trainer, pass, choice, blockMs }: SavedChoice): SavedChoice => ({ trainer, pass, choice, blockMs });

/** A new master grants the choice its whole time again: the clocks of two masters cannot be compared. */
export const createSaveElection = (options: SaveElectionOptions): SaveElection => new Election(options);

class Election implements SaveElection {
  #passes: number;
  readonly #maxBlockMs: number;
  readonly #turns: SaveTurns;
  #ended: number;
  #saved: number;
  #choices: number;
  #chosen: RunningChoice | undefined;
  /** Choices up to this one may have read a model that was not final. */
  #lastEarlyChoice: number;

  constructor({ from, passes, ended, at, maxBlockMs }: SaveElectionOptions) {
    this.#passes = passes;
    this.#maxBlockMs = maxBlockMs;
    this.#turns = new SaveTurns(maxBlockMs);
    this.#ended = this.#withoutLast(ended);
    // A pserver may have been restored while no master was running.
    this.#saved = this.#withoutLast(from?.saved ?? 0);
    this.#choices = from?.choices ?? 0;
    this.#lastEarlyChoice = this.#choices;
    this.#chosen = from?.chosen && this.#begin(from.chosen, at);
    this.#forgetLast();
  }

  request(trainer: string, blockMs: number, now: number): SaveAnswer {
    const before = this.#chosen;
    if (before?.trainer === trainer && now < before.endMs) return this.#renew(before, blockMs, now);
    if (!this.isWanted(now) || this.#turns.mustWait(trainer, before?.trainer, now)) return NOT_CHOSEN;
    const silent = this.#miss();
    this.#choices += 1;
    this.#turns.chose();
    // The parameters after earlier passes no longer exist: only the newest pass can be saved.
    const chosen = { pass: this.#ended, choice: this.#choices };
    this.#chosen = this.#begin({ trainer, ...chosen, blockMs }, now);
    return { chosen, changed: true, ...(silent && { silent }) };
  }

  keep(choice: number, now: number): SaveAnswer {
    const before = this.#chosen;
    return before?.choice === choice && now < before.endMs ? this.#renew(before, before.blockMs, now) : NOT_CHOSEN;
  }

  wrote(pass: number, choice: number): boolean {
    const isEarly = pass === this.#passes && choice <= this.#lastEarlyChoice;
    // Even when the block time of that choice is over: its file is complete, and of that pass.
    if (pass <= this.#saved || pass > this.#ended || isEarly) return false;
    this.#saved = pass;
    if (this.#chosen?.choice === choice) this.#turns.wrote(this.#chosen.trainer);
    if (this.#chosen !== undefined && this.#chosen.pass <= pass) this.#chosen = undefined;
    return true;
  }

  failed(choice: number): boolean {
    return this.#chosen?.choice === choice && this.#miss() !== undefined;
  }

  sized(choice: number, bytes: number): void {
    const before = this.#chosen;
    if (before?.choice !== choice) return;
    const { since, blockMs, trainer } = before;
    const endMs = Math.max(before.endMs, since + saveLimitMs(bytes, this.#turns.failuresOf(trainer)));
    this.#chosen = { ...before, until: Math.max(before.until, Math.min(since + blockMs, endMs)), endMs };
  }

  roster(trainers: readonly string[]): void {
    const known = [...this.#turns.live(), ...(this.#chosen === undefined ? [] : [this.#chosen.trainer])];
    for (const trainer of known) if (!trainers.includes(trainer)) this.gone(trainer);
    for (const trainer of trainers) this.joined(trainer);
  }

  joined(trainer: string): void {
    this.#turns.joined(trainer);
  }

  gone(trainer: string): boolean {
    this.#turns.left(trainer);
    const isChosen = this.#chosen?.trainer === trainer;
    if (isChosen) this.#chosen = undefined;
    return isChosen;
  }

  overdue(now: number): SavedChoice | undefined {
    return this.#chosen !== undefined && now >= this.#chosen.endMs ? this.#miss() : undefined;
  }

  passesEnded(passes: number): void {
    this.#ended = Math.max(this.#ended, this.#withoutLast(passes));
  }

  trained(passes: number): void {
    if (passes < this.#passes) {
      this.#passes = passes;
      this.overtaken();
    }
    this.#ended = this.#passes;
    this.#lastEarlyChoice = this.#choices;
  }

  overtaken(): void {
    this.#ended = this.#withoutLast(this.#ended);
    this.#saved = this.#withoutLast(this.#saved);
    this.#forgetLast();
  }

  isWanted(now: number): boolean {
    const isBlocked = this.#chosen !== undefined && now < this.#chosen.until;
    return this.#ended > this.#saved && !isBlocked;
  }

  nextDeadline(): number | undefined {
    return this.#chosen?.until;
  }

  state(): SavedElection {
    const counts = { saved: this.#saved, choices: this.#choices };
    return this.#chosen === undefined ? counts : { ...counts, chosen: asSaved(this.#chosen) };
  }

  #withoutLast(pass: number): number {
    return Math.min(pass, this.#passes - 1);
  }

  #forgetLast(): void {
    if (this.#chosen?.pass === this.#passes) this.#chosen = undefined;
  }

  #begin(choice: SavedChoice, now: number): RunningChoice {
    const limitMs = saveLimitMs(0, this.#turns.failuresOf(choice.trainer));
    const blockMs = Math.min(choice.blockMs, this.#maxBlockMs);
    return { ...choice, blockMs, since: now, until: now + Math.min(blockMs, limitMs), endMs: now + limitMs };
  }

  #renew(before: RunningChoice, blockMs: number, now: number): SaveAnswer {
    this.#chosen = { ...before, blockMs, until: Math.min(now + blockMs, before.endMs) };
    return { chosen: { pass: before.pass, choice: before.choice }, changed: before.blockMs !== blockMs };
  }

  /** Ends the choice, which its trainer had and did not use. */
  #miss(): SavedChoice | undefined {
    if (this.#chosen === undefined) return undefined;
    const missed = asSaved(this.#chosen);
    this.#turns.failed(missed.trainer);
    this.#chosen = undefined;
    return missed;
  }
}
