/**
 * The master's side of saving the merged model: a choice is in the store before a trainer gets it
 * (core/save-election.ts).
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import type { Signal } from '../../cluster/waiting.ts';
import { createSaveElection, type SaveAnswer, type SavedChoice, type SaveElection } from '../../core/save-election.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { RequestHeader } from '../../protocol/messages/all-messages.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { TrainerEvent } from './training.ts';

const count = z.int().min(0);
const positive = z.int().min(1);
const electionSchema = z.strictObject({
  saved: count,
  choices: count,
  chosen: z.strictObject({ trainer: z.string(), pass: positive, choice: positive, blockMs: positive }).optional(),
});

/** A block time may be so long for any `cluster.leaseTtl`. */
const BLOCK_MS = 60_000;

/** This number of failures to write one model, for example on full disks, fails the job. */
const FATAL_FAILURES = 5;

/** What a trainer asks, and what became of the model. */
type SaveRequest = Pick<Extract<RequestHeader, { type: 'requestSaveModel' }>, 'trainer' | 'blockMs' | 'choice'>;
type SaveOutcome = Omit<Extract<RequestHeader, { type: 'savedModel' }>, 'type' | 'job' | 'batchPlanId'>;

export interface Saves {
  request(ask: SaveRequest): Promise<SaveAnswer['chosen']>;
  ended(outcome: SaveOutcome): Promise<void>;
  passesEnded(passes: number): void;
  /** The model is final, after `passes` passes. */
  trained(passes: number): void;
  /** It is not, after all. */
  overtaken(): void;
  tell(event: TrainerEvent): void;
  /** A trainer that asks now would be chosen. */
  isWanted(): boolean;
  isSaved(pass: number): boolean;
  readonly cancel: Cancel;
}

export interface SavesOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  /** Passes of the job. */
  readonly passes: number;
  /** Number of passes that have ended. */
  readonly ended: number;
  readonly leaseTtlMs: number;
  readonly stopSignal: AbortSignal;
  /** Notified when waiting trainers need a new answer, and when a model is saved. */
  readonly changed: Signal;
  /** Bytes of the parameters and their state in all pservers: at least the bytes to be written. */
  readonly modelBytes: () => Promise<number>;
  readonly onFatal: (error: unknown) => void;
}

export async function openSaves(options: SavesOptions): Promise<Saves> {
  const { context, stopSignal, passes, ended, leaseTtlMs } = options;
  const key = context.keys.modelSave;
  const entry = await retryStore(context, () => context.store.get(key), stopSignal);
  const from = entry && parseStoreValue(electionSchema, key, entry.value);
  const at = context.host.clock.monotonicMs();
  const maxBlockMs = Math.max(BLOCK_MS, 4 * leaseTtlMs);
  const saves = new StoredSaves(options, createSaveElection({ from, passes, ended, at, maxBlockMs }), maxBlockMs);
  saves.measure();
  return saves;
}

class StoredSaves implements Saves {
  readonly #options: SavesOptions;
  readonly #election: SaveElection;
  readonly #maxBlockMs: number;
  #cancelTimer: Cancel = () => {};
  #failures = 0;
  #stored: Promise<void> = Promise.resolve();

  constructor(options: SavesOptions, election: SaveElection, maxBlockMs: number) {
    this.#options = options;
    this.#election = election;
    this.#maxBlockMs = maxBlockMs;
  }

  async request({ trainer, blockMs, choice }: SaveRequest): Promise<SaveAnswer['chosen']> {
    if (blockMs > this.#maxBlockMs) {
      throw new PaddletError('BadMessage', `expected blockMs of at most ${this.#maxBlockMs}, got ${blockMs}`);
    }
    const { clock, log } = this.#options.context.host;
    await this.#failOverdue();
    const now = clock.monotonicMs();
    const answer =
      choice === undefined ? this.#election.request(trainer, blockMs, now) : this.#election.keep(choice, now);
    const { chosen, changed: isNew, silent } = answer;
    if (chosen !== undefined) this.#wakeAtDeadline();
    if (silent !== undefined) await this.#countFailure(silent, 'the trainer stopped answering');
    if (isNew && choice === undefined) this.measure();
    if (isNew) {
      log.info(`trainer ${trainer} saves the model after pass ${chosen?.pass}`);
      this.#store();
    }
    // Even a trainer that asks once more while the choice is being stored gets no answer before.
    await this.#stored;
    return chosen;
  }

  ended(outcome: SaveOutcome): Promise<void> {
    const { path, error } = outcome;
    return path === undefined
      ? this.#failed(outcome, error ?? 'the trainer gave no reason')
      : this.#written(outcome, path);
  }

  passesEnded(passes: number): void {
    this.#election.passesEnded(passes);
    this.#options.changed.notify();
  }

  trained(passes: number): void {
    this.#election.trained(passes);
    this.#options.changed.notify();
  }

  overtaken(): void {
    this.#election.overtaken();
  }

  tell(event: TrainerEvent): void {
    const before = this.#election.state().chosen;
    if (event.type === 'roster') this.#election.roster(event.trainers);
    else if (event.type === 'joined') this.#election.joined(event.trainer);
    else if (event.type === 'gone') this.#election.gone(event.trainer);
    // Not stored: the next master does not see this trainer either.
    if (this.#election.state().chosen?.choice !== before?.choice) this.#options.changed.notify();
  }

  /** How large the model is that a trainer is chosen to write, and so how long it may take. */
  measure(): void {
    const { chosen } = this.#election.state();
    if (chosen === undefined) return;
    const { modelBytes, onFatal } = this.#options;
    const take = (bytes: number): void => {
      this.#election.sized(chosen.choice, bytes);
      this.#wakeAtDeadline();
    };
    modelBytes().then(take).catch(onFatal);
  }

  isWanted(): boolean {
    return this.#election.isWanted(this.#options.context.host.clock.monotonicMs());
  }

  isSaved(pass: number): boolean {
    return this.#election.state().saved >= pass;
  }

  readonly cancel = (): void => this.#cancelTimer();

  /** One write after the other, each of the state as it is then. */
  #store(): Promise<void> {
    const { context, fence, stopSignal } = this.#options;
    this.#stored = this.#stored
      .catch(() => {})
      .then(async () => {
        const put = { put: context.keys.modelSave, value: JSON.stringify(this.#election.state()) };
        await retryStore(context, () => fencedTxn(context.store, fence, { then: [put] }), stopSignal);
      });
    // Whatever waits for it gets the error.
    this.#stored.catch(() => {});
    return this.#stored;
  }

  #wakeAtDeadline(): void {
    const { clock } = this.#options.context.host;
    this.#cancelTimer();
    const due = this.#election.nextDeadline();
    if (due === undefined) return;
    this.#cancelTimer = clock.after(Math.max(0, due - clock.monotonicMs()), () => {
      this.#failOverdue().catch(this.#options.onFatal);
      this.#options.changed.notify();
    });
  }

  async #failOverdue(): Promise<void> {
    const overdue = this.#election.overdue(this.#options.context.host.clock.monotonicMs());
    if (overdue === undefined) return;
    await this.#countFailure(overdue, 'saving took too long for the size of the model');
  }

  async #written({ pass, choice }: SaveOutcome, path: string): Promise<void> {
    if (!this.#election.wrote(pass, choice)) return;
    this.#failures = 0;
    this.#cancelTimer();
    await this.#store();
    this.#options.context.host.log.info(`the model after pass ${pass} is saved: ${path}`);
    this.#options.changed.notify();
  }

  async #failed(outcome: SaveOutcome, error: string): Promise<void> {
    if (this.#election.failed(outcome.choice)) await this.#countFailure(outcome, error);
  }

  async #countFailure({ trainer, pass }: Pick<SavedChoice, 'trainer' | 'pass'>, error: string): Promise<void> {
    this.#failures += 1;
    const { context, onFatal, changed } = this.#options;
    context.host.log.error(`trainer ${trainer} could not save the model after pass ${pass}: ${error}`);
    if (this.#failures >= FATAL_FAILURES) {
      onFatal(
        new PaddletError('ModelNotSaved', `the model after pass ${pass} could not be saved: ${error}`, {
          hint: 'set model.saveDir to a folder that the trainers can write to',
        }),
      );
    }
    await this.#store();
    changed.notify();
  }
}
