/**
 * The join token (`/token`): random bytes that all processes of a job read from the store, and prove to know to each
 * other. It is never shown: not in logs, errors, flags or answers.
 */
import { createHash } from 'node:crypto';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Cancel, Clock, Log, Random } from '../../base/seams.ts';
import type { JoinToken } from '../../protocol/join/token.ts';
import { followKey } from '../../store/follow-key.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';

/** A new value of `/token`: hexadecimal text. Two random UUIDs have 244 bits that cannot be guessed. */
export function newJoinToken(random: Random): string {
  return createHash('sha256').update(random.uuid()).update(random.uuid()).digest('hex');
}

const HEX = /^(?:[0-9a-f]{2})+$/;

/** Throws `StoreValueInvalid`, without the value. */
export function parseJoinToken({ key, value }: Pick<KeyValue, 'key' | 'value'>): Uint8Array {
  if (value.length === 2 * LIMITS.joinTokenBytes && HEX.test(value)) return Uint8Array.from(Buffer.from(value, 'hex'));
  throw new PaddletError('StoreValueInvalid', `${key}: expected ${LIMITS.joinTokenBytes} bytes in hexadecimal`, {
    hint: 'write a new token with `paddlet token rotate`',
  });
}

export interface StoredJoinTokenOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

/** The token of one job, read when it is first wanted; roles, which run long, also follow it. */
export class StoredJoinToken implements JoinToken {
  readonly #options: StoredJoinTokenOptions;
  #known: Uint8Array | undefined;
  /** Revision of the known value: a read may return after a newer value came. */
  #revision = 0n;
  #reading: Promise<Uint8Array | undefined> | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(options: StoredJoinTokenOptions) {
    this.#options = options;
  }

  async current(): Promise<Uint8Array | undefined> {
    return this.#known ?? this.refresh();
  }

  async refresh(): Promise<Uint8Array | undefined> {
    const isEarly = this.#options.clock.monotonicMs() - this.#readMs < LIMITS.joinTokenReadMs;
    if (this.#reading === undefined && isEarly) return this.#known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Keeps to the token in the store; established connections notice nothing. */
  follow(): Cancel {
    const { store, keys, clock, log } = this.#options;
    return followKey(
      store,
      keys.token,
      {
        onValue: (entry) => {
          if (entry !== undefined) this.#take(entry);
        },
        onEnd: (error) => {
          this.#known = undefined;
          log.error(`cannot watch the join token for changes: ${error.message}`);
        },
      },
      clock,
    );
  }

  async #read(): Promise<Uint8Array | undefined> {
    const { store, keys, clock } = this.#options;
    const entry = await store.get(keys.token);
    this.#readMs = clock.monotonicMs();
    if (entry !== undefined) this.#take(entry);
    return this.#known;
  }

  #take(entry: KeyValue): void {
    if (entry.modRevision < this.#revision) return;
    this.#known = parseJoinToken(entry);
    this.#revision = entry.modRevision;
  }
}
