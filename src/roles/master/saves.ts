/** The master's side of saving the merged model: who is chosen stands in the store before anybody is told (core/save-election.ts). */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { createSaveElection } from '../../core/save-election.ts';
import { parseStoreValue } from '../../core/task-state.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { RoleContext } from '../context.ts';
import { patiently } from '../ownership.ts';
import type { Signal } from '../waiting.ts';

const count = z.int().min(0);
const electionSchema = z.strictObject({
  saved: count,
  chosen: z.strictObject({ trainer: z.string(), pass: z.int().min(1), blockMs: z.int().min(1) }).optional(),
});

/** Failures to write one model, disks that are full for example, before the job is given up. */
const MAX_FAILURES = 5;

export interface Saves {
  /** The pass, counted from 1, that this trainer is to save. */
  request(trainer: string, blockMs: number): Promise<number | undefined>;
  wrote(trainer: string, pass: number, path: string): Promise<void>;
  failed(trainer: string, pass: number, error: string): Promise<void>;
  passesEnded(passes: number): void;
  redo(pass: number): Promise<void>;
  /** A trainer that asks now would be chosen. */
  isWanted(): boolean;
  isSaved(pass: number): boolean;
  cancel(): void;
}

export interface SavesOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly passes: number;
  readonly over: AbortSignal;
  /** Notified when trainers that wait are to be told, and when a model is saved. */
  readonly changed: Signal;
  readonly onEnd: (error: unknown) => void;
}

export async function openSaves(options: SavesOptions): Promise<Saves> {
  const { context, fence, over, changed } = options;
  const { clock, log } = context.host;
  const key = context.keys.modelSave;
  const entry = await patiently(context, () => context.store.get(key), over);
  const before = entry && parseStoreValue(electionSchema, key, entry.value);
  const election = createSaveElection(before, options.passes, clock.monotonicMs());
  let cancelTimer: Cancel = () => {};
  let failures = 0;
  let storing: Promise<unknown> = Promise.resolve();

  /** One write after the other, each of the state as it is then. */
  function store(): Promise<void> {
    const next = storing.then(async () => {
      const value = JSON.stringify(election.state());
      await patiently(context, () => fencedTxn(context.store, fence, { then: [{ put: key, value }] }), over);
    });
    storing = next.catch(() => {});
    return next;
  }

  function wakeAtDeadline(): void {
    cancelTimer();
    const due = election.nextDeadline();
    if (due !== undefined) cancelTimer = clock.after(Math.max(0, due - clock.monotonicMs()), () => changed.notify());
  }

  return {
    async request(trainer, blockMs) {
      const { pass, changed: isNew } = election.request(trainer, blockMs, clock.monotonicMs());
      if (isNew) {
        wakeAtDeadline();
        log.info(`trainer ${trainer} is chosen to save the model after pass ${pass}`);
        await store();
      }
      return pass;
    },
    async wrote(trainer, pass, path) {
      if (!election.wrote(trainer, pass)) return;
      failures = 0;
      cancelTimer();
      await store();
      log.info(`the model after pass ${pass} is saved: ${path}`);
      changed.notify();
    },
    async failed(trainer, pass, error) {
      if (!election.failed(trainer, pass)) return;
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
    },
    passesEnded(passes) {
      election.passesEnded(passes);
      changed.notify();
    },
    async redo(pass) {
      election.redo(pass);
      await store();
    },
    isWanted: () => election.isWanted(clock.monotonicMs()),
    isSaved: (pass) => election.state().saved >= pass,
    cancel: () => cancelTimer(),
  };
}
