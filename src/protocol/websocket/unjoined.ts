/**
 * Connections of strangers: all that have not proved to know the join token, plain HTTP among them. Their time and
 * their number are limited: for one more the oldest is cut, as peers of the job join at once.
 */
import type { Cancel, Clock } from '../../base/seams.ts';

export interface Unjoined {
  /** Cuts the connection at once, whatever is in flight. */
  cut(): void;
  /** When what is on its way is sent. */
  end(): void;
}

interface Counted {
  connection: Unjoined;
  readonly stop: Cancel;
}

export class UnjoinedConnections<Key> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #limit: number;
  /** All connections, in the order in which they came. */
  readonly #all = new Map<Key, Counted>();

  constructor(clock: Clock, { timeoutMs, limit }: { readonly timeoutMs: number; readonly limit: number }) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#limit = limit;
  }

  /** False when another one was cut for it. */
  add(key: Key, connection: Unjoined): boolean {
    const [oldest] = this.#all.size < this.#limit ? [] : this.#all.keys();
    if (oldest !== undefined) this.#cut(oldest);
    const stop = this.#clock.after(this.#timeoutMs, () => this.#cut(key));
    this.#all.set(key, { connection, stop });
    return oldest === undefined;
  }

  /** From now on the connection is cut in another way. */
  change(key: Key, connection: Unjoined): void {
    const counted = this.#all.get(key);
    if (counted !== undefined) counted.connection = connection;
  }

  /** It has joined, or is closed. */
  remove(key: Key): void {
    this.#all.get(key)?.stop();
    this.#all.delete(key);
  }

  endAll(): void {
    for (const { connection } of [...this.#all.values()]) connection.end();
  }

  #cut(key: Key): void {
    const counted = this.#all.get(key);
    this.remove(key);
    counted?.connection.cut();
  }
}
