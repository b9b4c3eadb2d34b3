/**
 * Waiting and long computing that can be interrupted, and logging what is waited for: soon at first, then periodically
 * (docs/design.md §2).
 */
import { assert } from '../base/assert.ts';
import { pause } from '../base/backoff.ts';
import { isPaddletError, PaddletError } from '../base/errors.ts';
import type { Cancel, Clock, Log } from '../base/seams.ts';
import type { Steps } from '../base/steps.ts';
import { abortAfter } from './abort.ts';

/** Far shorter than a lease. Its cost is in docs/decisions/0165-turns-between-steps.md. */
const TURN_AFTER_MS = 200;
const FIRST_SAID_MS = 500;
const REMIND_MS = 10_000;

export const interrupted = (): PaddletError => new PaddletError('Interrupted', 'interrupted');

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw interrupted();
}

/** Rejects with `Interrupted` when the signal aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(interrupted());
    if (signal.aborted) {
      promise.catch(() => {});
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** A pause, for back-off only: where there is an event, wait for that. */
export async function pauseOrAborted(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  await pause(clock, delayMs, signal);
  throwIfAborted(signal);
}

/** Runs a long computation to its end; between its steps, whatever else is due has its turn. */
export async function inTurns<T>(clock: Clock, steps: Steps<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pauseOrAborted(clock, 0, signal);
  }
}

/**
 * Gives way between the steps of a computation that awaits nothing from outside: leases are renewed, and `info` is
 * answered.
 */
export class Turns {
  readonly #clock: Clock;
  #lastMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonicMs();
  }

  /** Whether the thread may have been busy for so long that `take` is to be awaited. */
  areDue(): boolean {
    return this.#clock.monotonicMs() - this.#lastMs >= TURN_AFTER_MS;
  }

  async take(signal: AbortSignal): Promise<void> {
    await pauseOrAborted(this.#clock, 0, signal);
    this.#lastMs = this.#clock.monotonicMs();
  }
}

/** Logs what is waited for until cancelled, unless that comes soon; `what` is asked again each time. */
export function logWaiting(clock: Clock, log: Log, what: () => string, firstMs = FIRST_SAID_MS): Cancel {
  let cancel: Cancel = () => {};
  const say = (): void => {
    log.info(`waiting for ${what()}`);
    cancel = clock.after(REMIND_MS, say);
  };
  cancel = clock.after(firstMs, say);
  return () => cancel();
}

/** Tells waiters that a value has changed. */
export interface Signal {
  /** Wakes all who wait, to look again. */
  notify(): void;
  /** Calls `wake` once, at the next `notify`, unless it was cancelled before. */
  onNext(wake: () => void): Cancel;
  /** Resolves with the first defined answer of `look`, asked now and after each `notify`. */
  until<T>(look: () => T | undefined, signal: AbortSignal): Promise<T>;
}

export function createSignal(): Signal {
  const waiters = new Set<() => void>();
  const onNext = (wake: () => void): Cancel => {
    waiters.add(wake);
    return () => void waiters.delete(wake);
  };
  return {
    onNext,
    notify() {
      const woken = [...waiters];
      waiters.clear();
      for (const wake of woken) wake();
    },
    async until(look, signal) {
      for (;;) {
        throwIfAborted(signal);
        const found = look();
        if (found !== undefined) return found;
        const { promise, resolve } = Promise.withResolvers<void>();
        const forget = onNext(resolve);
        // One that gave up waiting is not kept until the next change, which may never come.
        await orAborted(promise, signal).finally(forget);
      }
    },
  };
}

/** As `changed.until`, for so long at most: a long poll. Undefined when the time is over. */
export async function untilOrLate<T>(
  changed: Signal,
  look: () => T | undefined,
  wait: { readonly clock: Clock; readonly maxWaitMs: number; readonly signal: AbortSignal },
): Promise<T | undefined> {
  const found = look();
  if (found !== undefined || wait.maxWaitMs === 0) {
    throwIfAborted(wait.signal);
    return found;
  }
  const late = abortAfter(wait.clock, wait.maxWaitMs);
  try {
    return await changed.until(look, AbortSignal.any([wait.signal, late.signal]));
  } catch (error) {
    if (wait.signal.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    return undefined;
  } finally {
    late.cancel();
  }
}

export interface ChangeAbort {
  /** Aborts on the change; never, once released or when waiting was stopped before. */
  readonly signal: AbortSignal;
  release(): void;
}

/** A signal that aborts as soon as `hasChanged`, which is asked now and after each `notify`. */
export function abortOnChange(changed: Signal, hasChanged: () => boolean, stopSignal: AbortSignal): ChangeAbort {
  const change = new AbortController();
  const released = new AbortController();
  changed
    .until(() => hasChanged() || undefined, AbortSignal.any([stopSignal, released.signal]))
    .then(
      () => change.abort(),
      (error: unknown) => assert(isPaddletError(error, 'Interrupted'), 'waiting ends by an interruption only'),
    );
  return { signal: change.signal, release: () => released.abort() };
}

/** For a separate loop: what ends it is fatal, unless it was stopped and ends by that interruption. */
export const unlessStopped =
  (stopSignal: AbortSignal, onFatal: (error: unknown) => void) =>
  (error: unknown): void => {
    if (!stopSignal.aborted || !isPaddletError(error, 'Interrupted')) onFatal(error);
  };
