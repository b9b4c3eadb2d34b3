/** The master's side of saving the merged model: who is chosen stands in the store before anybody is told (core/save-election.ts). */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import type { Signal } from '../../cluster/waiting.ts';
import { createSaveElection, type SaveAnswer } from '../../core/save-election.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { RequestHeader } from '../../protocol/messages/messages.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';

const count = z.int().min(0);
const positive = z.int().min(1);
const electionSchema = z.strictObject({
  saved: count,
  choices: count,
  chosen: z.strictObject({ trainer: z.string(), pass: positive, choice: positive, blockMs: positive }).optional(),
});

/** Failures to write one model, disks that are full for example, before the job is given up. */
const MAX_FAILURES = 5;

/** What a trainer asks, and what became of it. */
type Ask = Pick<Extract<RequestHeader, { type: 'requestSaveModel' }>, 'trainer' | 'blockMs' | 'choice'>;
type Outcome = Omit<Extract<RequestHeader, { type: 'savedModel' }>, 'type' | 'job' | 'batchPlanId'>;

export interface Saves {
  request(ask: Ask): Promise<SaveAnswer['chosen']>;
  ended(outcome: Outcome): Promise<void>;
  passesEnded(passes: number): void;
  /** The model is final. */
  trained(): void;
  /** It is not, after all. */
  overtaken(): void;
  /** A trainer that asks now would be chosen. */
  isWanted(): boolean;
  isSaved(pass: number): boolean;
  cancel(): void;
}

export interface SavesOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  /** Of the job. */
  readonly passes: number;
  /** So many have ended. */
  readonly ended: number;
  readonly over: AbortSignal;
  /** Notified when trainers that wait are to be told, and when a model is saved. */
  readonly changed: Signal;
  readonly onEnd: (error: unknown) => void;
}

export async function openSaves(options: SavesOptions): Promise<Saves> {
  const { context, fence, over, changed } = options;
  const { clock, log } = context.host;
  const key = context.keys.modelSave;
  const entry = await retryStore(context, () => context.store.get(key), over);
  const before = entry && parseStoreValue(electionSchema, key, entry.value);
  const { passes, ended } = options;
  const election = createSaveElection({ from: before, passes, ended, at: clock.monotonicMs() });
  let cancelTimer: Cancel = () => {};
  let failures = 0;
  let stored: Promise<void> = Promise.resolve();

  /** One write after the other, each of the state as it is then. */
  function store(): Promise<void> {
    stored = stored
      .catch(() => {})
      .then(async () => {
        const value = JSON.stringify(election.state());
        await retryStore(context, () => fencedTxn(context.store, fence, { then: [{ put: key, value }] }), over);
      });
    // Who waits for it hears of it.
    stored.catch(() => {});
    return stored;
  }

  function wakeAtDeadline(): void {
    cancelTimer();
    const due = election.nextDeadline();
    if (due !== undefined) cancelTimer = clock.after(Math.max(0, due - clock.monotonicMs()), () => changed.notify());
  }

  async function wrote({ pass, choice }: Outcome, path: string): Promise<void> {
    if (!election.wrote(pass, choice)) return;
    failures = 0;
    cancelTimer();
    await store();
    log.info(`the model after pass ${pass} is saved: ${path}`);
    changed.notify();
  }

  async function failed({ trainer, pass, choice }: Outcome, error: string): Promise<void> {
    if (!election.failed(choice)) return;
    failures += 1;
    log.error(`trainer ${trainer} could not save the model after pass ${pass}: ${error}`);
    if (failures >= MAX_FAILURES) {
      options.onEnd(
        new PaddletError('ModelNotSaved', `the model after pass ${pass} could not be saved: ${error}`, {
          hint: 'model.saveDir must be a folder that the trainers can write',
        }),
      );
    }
    await store();
    changed.notify();
  }

  return {
    async request({ trainer, blockMs, choice }) {
      const now = clock.monotonicMs();
      const { chosen, changed: isNew } =
        choice === undefined ? election.request(trainer, blockMs, now) : election.keep(choice, now);
      if (chosen !== undefined) wakeAtDeadline();
      if (isNew) {
        log.info(`trainer ${trainer} is chosen to save the model after pass ${chosen?.pass}`);
        store();
      }
      // Also who asks once more while the choice is being stored is not told before.
      await stored;
      return chosen;
    },
    ended: (outcome) => {
      const { path, error } = outcome;
      return path === undefined ? failed(outcome, error ?? 'it does not say why') : wrote(outcome, path);
    },
    passesEnded(passes) {
      election.passesEnded(passes);
      changed.notify();
    },
    trained() {
      election.trained();
      changed.notify();
    },
    overtaken: election.overtaken,
    isWanted: () => election.isWanted(clock.monotonicMs()),
    isSaved: (pass) => election.state().saved >= pass,
    cancel: () => cancelTimer(),
  };
}
