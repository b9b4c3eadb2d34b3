/** Asks to save the model when the master says that it is wanted; saves it beside the work, if chosen, and keeps the choice meanwhile. */
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { throwIfAborted } from '../../../cluster/waiting.ts';
import type { ReplyHeader } from '../../../protocol/messages/messages.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** Between two looks at whether a model is still wanted that this trainer cannot see to yet. */
export const SAVE_BUSY_MS = 100;

type Chosen = NonNullable<Extract<ReplyHeader, { type: 'requestSaveModel' }>['chosen']>;

export interface ModelSaver {
  /** Returns at once: false when this trainer cannot see to it yet. */
  wanted(): boolean;
  /** Resolves when nothing is being saved any more. */
  settled(): Promise<void>;
}

export interface ModelSaverOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly id: string;
  readonly master: MasterClient;
  /** Writes the model after that pass; its path. `confirm` throws `Interrupted` when another is to write it. */
  readonly save: (pass: number, confirm: () => Promise<void>, signal: AbortSignal) => Promise<string>;
  readonly over: AbortSignal;
  readonly onEnd: (error: unknown) => void;
}

export function createModelSaver(options: ModelSaverOptions): ModelSaver {
  const { context, record, id, master, over } = options;
  const { clock, log } = context.host;
  const ofJob = { job: record.id, batchPlanId: record.batchPlanId, trainer: id };
  /** Longer than a death takes to be seen. */
  const blockMs = 2 * record.job.cluster.leaseTtlMs;
  let running: Promise<void> | undefined;
  /** Asks whether the choice that is being worked on still stands. */
  let recheck: (() => void) | undefined;

  async function ask(choice?: number): Promise<Chosen | undefined> {
    const header = { type: 'requestSaveModel' as const, ...ofJob, blockMs, ...(choice && { choice }) };
    const reply = await master.request({ header }, { timeoutMs: REQUEST_TIMEOUT_MS, signal: over });
    reply.free();
    return reply.header.chosen;
  }

  async function tell(chosen: Chosen, outcome: { path?: string; error?: string }): Promise<void> {
    const header = { type: 'savedModel' as const, ...ofJob, ...chosen, ...outcome };
    (await master.request({ header }, { timeoutMs: REQUEST_TIMEOUT_MS, signal: over })).free();
  }

  /** Aborts the writing when somebody else was chosen meanwhile, or what is being written is not the model any more. */
  async function keep({ choice }: Chosen, lost: AbortController): Promise<void> {
    if ((await ask(choice)) === undefined) lost.abort();
  }

  /** Asks again and again, and when told to. */
  function keepChoice(chosen: Chosen, lost: AbortController): Cancel {
    let cancelled = false;
    let isAsking = false;
    let cancelTimer: Cancel = () => {};
    const renew = async (): Promise<void> => {
      if (isAsking) return;
      isAsking = true;
      cancelTimer();
      try {
        await keep(chosen, lost);
      } catch (error) {
        if (!isPaddletError(error)) throw error;
      }
      isAsking = false;
      if (!cancelled) arm();
    };
    const renewNow = (): void => void renew().catch(options.onEnd);
    const arm = (): void => {
      cancelTimer = clock.after(blockMs / 3, renewNow);
    };
    arm();
    recheck = renewNow;
    return () => {
      cancelled = true;
      recheck = undefined;
      cancelTimer();
    };
  }

  async function run(): Promise<void> {
    const chosen = await ask();
    if (chosen === undefined) return;
    const { pass } = chosen;
    const lost = new AbortController();
    const signal = AbortSignal.any([over, lost.signal]);
    const confirm = async (): Promise<void> => {
      await keep(chosen, lost);
      throwIfAborted(signal);
    };
    const cancel = keepChoice(chosen, lost);
    let outcome: { path?: string; error?: string };
    try {
      outcome = { path: await options.save(pass, confirm, signal) };
    } catch (error) {
      // What is no error of the disk or of the pservers is a bug.
      if (!(error instanceof Error) || !(isPaddletError(error) || 'code' in error)) throw error;
      // Whoever relieves this one removes the file that it was writing.
      if (!signal.aborted) await keep(chosen, lost);
      if (over.aborted) return;
      if (lost.signal.aborted) {
        log.warn(`this trainer is not to save the model after pass ${pass} any more: given up here`);
        return;
      }
      log.error(`the model after pass ${pass} could not be saved: ${error.message}`);
      outcome = { error: error.message.slice(0, 4000) };
    } finally {
      cancel();
    }
    await tell(chosen, outcome);
  }

  return {
    wanted() {
      if (over.aborted) return false;
      if (running !== undefined) {
        // The master has nobody who writes it: what is being written here is not wanted any more.
        recheck?.();
        return false;
      }
      running = run()
        .catch((error: unknown) => {
          if (!isPaddletError(error, 'Interrupted')) options.onEnd(error);
        })
        .finally(() => {
          running = undefined;
        });
      return true;
    },
    settled: async () => running,
  };
}
