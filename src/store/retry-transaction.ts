/**
 * Retries a transaction that must happen once, although an attempt with an unknown outcome may still land. Reads, and
 * writes that may be repeated, are retried by `retry-until-answered.ts`.
 */
import { backoffMs, pause } from '../base/backoff.ts';
import { isPaddletError, PaddletError } from '../base/errors.ts';
import type { Clock } from '../base/seams.ts';
import type { TxnResult } from './store.ts';

export interface SettleOptions<R extends Answered = TxnResult> {
  readonly clock: Clock;
  /**
   * Runs the transaction once, for example by `fencedTxn`. An abandoned attempt may still land later, so the
   * transaction must carry a compare that its own success breaks (create-only, or `modRevision`): then it lands at most
   * once.
   */
  readonly run: () => Promise<R>;
  /** Tells from the store whether the transaction has happened. Called only after an attempt with unknown outcome. */
  readonly happened: () => Promise<boolean>;
  readonly signal?: AbortSignal;
  /** No further attempt after so long: the last error is thrown. Without it waits for ever. */
  readonly limitMs?: number;
  /** Called after each failed attempt: a role that waits logs what it waits for. */
  readonly onWaiting?: (error: PaddletError) => void;
}

/** What a transaction, or a read, was answered with. */
interface Answered {
  readonly succeeded: boolean;
}

export interface Settled<R extends Answered = TxnResult> {
  readonly succeeded: boolean;
  /** Undefined when reading back showed the success. */
  readonly result: R | undefined;
}

/**
 * Runs a transaction until its outcome is known. Throws `Interrupted` when aborted (the outcome may then be unknown),
 * the last error of the store when the limit is reached, and what else `run` and `happened` throw, except that the
 * store is unreachable.
 */
export async function settle<R extends Answered = TxnResult>(options: SettleOptions<R>): Promise<Settled<R>> {
  let isDoubtful = false;
  const startMs = options.clock.monotonicMs();
  for (let failures = 0; ; failures++) {
    if (options.signal?.aborted === true) {
      throw new PaddletError('Interrupted', 'stopped while waiting for the store', { details: { isDoubtful } });
    }
    try {
      if (isDoubtful && (await options.happened())) return { succeeded: true, result: undefined };
      const result = await options.run();
      if (result.succeeded) return { succeeded: true, result };
      // The compare may have failed because an earlier attempt landed after the read.
      if (isDoubtful && (await options.happened())) return { succeeded: true, result: undefined };
      return { succeeded: false, result };
    } catch (error) {
      if (!isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome')) throw error;
      isDoubtful ||= error.code === 'StoreUnknownOutcome';
      options.onWaiting?.(error);
      if (options.clock.monotonicMs() - startMs >= (options.limitMs ?? Number.POSITIVE_INFINITY)) {
        throw isDoubtful ? inDoubt(error) : error;
      }
    }
    await pause(options.clock, backoffMs(failures), options.signal);
  }
}

const inDoubt = (last: PaddletError): PaddletError =>
  last.code === 'StoreUnknownOutcome' ? last : new PaddletError('StoreUnknownOutcome', last.message, { cause: last });
