/**
 * Asks to save the model when the master says that it is wanted. A trainer that is chosen saves it beside the training,
 * and keeps the choice by asking for it again, until the model is written.
 */
import { isPaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { throwIfAborted } from '../../../cluster/waiting.ts';
import type { ReplyHeader } from '../../../protocol/messages/all-messages.ts';
import { renewChoice } from './renew-choice.ts';

/** A trainer that cannot save a wanted model yet pauses this long between requests that the master answers at once. */
export const SAVE_BUSY_MS = 100;

type Choice = NonNullable<Extract<ReplyHeader, { type: 'requestSaveModel' }>['chosen']>;
type Outcome = { readonly path: string } | { readonly error: string };

export interface ModelSaver {
  /** Returns at once: false when this trainer cannot save the model yet. */
  wanted(): boolean;
  /** Resolves when no model is being saved. */
  settled(): Promise<void>;
}

export interface ModelSaverOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  /** The trainer's id. */
  readonly id: string;
  readonly master: MasterClient;
  /** Writes the model after that pass; returns its path. `confirm` throws `Interrupted` when the choice is lost. */
  readonly save: (pass: number, confirm: () => Promise<void>, signal: AbortSignal) => Promise<string>;
  readonly stopSignal: AbortSignal;
  readonly onFatal: (error: Error) => void;
}

export function createModelSaver(options: ModelSaverOptions): ModelSaver {
  const saver = new Saver(options);
  return { wanted: () => saver.wanted(), settled: () => saver.settled() };
}

class Saver {
  readonly #options: ModelSaverOptions;
  /** How long the choice keeps other trainers from saving: longer than the master needs to see a death. */
  readonly #blockMs: number;
  #running: Promise<void> | undefined;
  /** Asks at once whether the present choice still holds. */
  #recheck: (() => void) | undefined;

  constructor(options: ModelSaverOptions) {
    this.#options = options;
    this.#blockMs = 2 * options.record.job.cluster.leaseTtlMs;
  }

  wanted(): boolean {
    const { stopSignal, onFatal } = this.#options;
    if (stopSignal.aborted) return false;
    if (this.#running !== undefined) {
      // The master has no chosen trainer: the model that is being saved here may no longer be wanted.
      this.#recheck?.();
      return false;
    }
    this.#running = this.#run()
      .catch((error: unknown) => {
        if (!isPaddletError(error, 'Interrupted')) onFatal(error as Error);
      })
      .finally(() => {
        this.#running = undefined;
      });
    return true;
  }

  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const chosen = await this.#request();
    if (chosen === undefined) return;
    const outcome = await this.#save(chosen);
    if (outcome !== undefined) await this.#report(chosen, outcome);
  }

  /** Undefined when the saving was abandoned. */
  async #save(chosen: Choice): Promise<Outcome | undefined> {
    const { context, stopSignal, onFatal } = this.#options;
    const { log, clock } = context.host;
    const lost = new AbortController();
    const signal = AbortSignal.any([stopSignal, lost.signal]);
    const keep = (): Promise<void> => this.#keep(chosen, lost);
    const confirm = async (): Promise<void> => {
      await keep();
      throwIfAborted(signal);
    };
    const renewal = renewChoice(clock, this.#blockMs / 3, keep, onFatal);
    this.#recheck = renewal.now;
    try {
      return { path: await this.#options.save(chosen.pass, confirm, signal) };
    } catch (error) {
      // An error neither of the disk nor of the pservers is a bug.
      if (!(error instanceof Error) || !(isPaddletError(error) || 'code' in error)) throw error;
      // The next chosen trainer removes the file that this one was writing, which fails the writing.
      if (!signal.aborted) await keep();
      if (stopSignal.aborted) return undefined;
      if (lost.signal.aborted) {
        log.warn(`abandoned saving the model after pass ${chosen.pass}: another trainer saves it`);
        return undefined;
      }
      log.error(`the model after pass ${chosen.pass} could not be saved: ${error.message}`);
      return { error: error.message.slice(0, LIMITS.failureCharacters) };
    } finally {
      renewal.cancel();
      this.#recheck = undefined;
    }
  }

  /** Aborts the saving when another trainer was chosen, or when what is being saved is no longer the model. */
  async #keep({ choice }: Choice, lost: AbortController): Promise<void> {
    if ((await this.#request(choice)) === undefined) lost.abort();
  }

  /** Asks to be chosen, or to keep that choice. */
  async #request(choice?: number): Promise<Choice | undefined> {
    const { record, id, master, stopSignal } = this.#options;
    const fields = { ...jobFields(record), trainer: id, blockMs: this.#blockMs, ...(choice && { choice }) };
    const header = { type: 'requestSaveModel' as const, ...fields };
    const reply = await master.request({ header }, { signal: stopSignal });
    reply.free();
    return reply.header.chosen;
  }

  async #report(chosen: Choice, outcome: Outcome): Promise<void> {
    const { record, id, master, stopSignal } = this.#options;
    const header = { type: 'savedModel' as const, ...jobFields(record), trainer: id, ...chosen, ...outcome };
    (await master.request({ header }, { signal: stopSignal })).free();
  }
}
