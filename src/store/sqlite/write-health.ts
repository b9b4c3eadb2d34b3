/** Whether the file can be written to: what is wrong with its disk, for errors, for `trouble()` and for the log. */
import { isPaddletError } from '../../base/errors.ts';
import type { Clock, Log } from '../../base/seams.ts';
import type { StoreTrouble } from '../store.ts';
import { troubleOf } from './failures.ts';

/** Below this much free space the disk is tried once a second: most writes need a fraction of it. */
export const LOW_SPACE_BYTES = 1024 * 1024;
/** A write that goes through proves little while others fail: a large one needs more room than a small one. */
const CALM_MS = 2_000;
const REMIND_MS = 10_000;

export class WriteHealth {
  readonly #clock: Clock;
  readonly #log: Log;
  #trouble: StoreTrouble | undefined;
  #failedMs = 0;
  #loggedMs = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  /** A write has failed. Failures that say nothing about the disk are passed over. */
  failed(error: unknown): void {
    const trouble = troubleIn(error);
    if (trouble === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    const isNew = this.#trouble?.kind !== trouble.kind;
    this.#trouble = trouble;
    this.#failedMs = nowMs;
    if (!isNew && nowMs - this.#loggedMs < REMIND_MS) return;
    this.#loggedMs = nowMs;
    this.#log.warn(`store ${trouble.path}: ${trouble.text}; waiting: ${trouble.remedy}`);
  }

  /** A write has changed the file. */
  written(): void {
    const trouble = this.#trouble;
    if (trouble === undefined || this.#clock.monotonicMs() - this.#failedMs < CALM_MS) return;
    this.#trouble = undefined;
    this.#log.info(`store ${trouble.path} is writable again`);
  }
}

/** From the details that `unavailable` puts into an error. */
function troubleIn(error: unknown): StoreTrouble | undefined {
  if (!isPaddletError(error, 'StoreUnavailable')) return undefined;
  const { kind, path, why } = error.details as { kind?: StoreTrouble['kind']; path?: string; why?: string };
  return kind === undefined || path === undefined ? undefined : troubleOf(kind, path, why);
}
