/** The pushes of one task that are on their way: several, which the pservers take in the order of their numbers. */
import type { PushAcknowledged } from '../../../cluster/client/parameter-client.ts';

export class Pushes {
  readonly #most: number;
  readonly #onTheirWay = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  /** `most`: of them at a time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** To be called when there is room. */
  send(push: Promise<PushAcknowledged>, onAcknowledged: (acknowledged: PushAcknowledged) => void): void {
    const one: Promise<void> = push
      .then(onAcknowledged)
      .catch((error: unknown) => {
        // Those that were sent after it fail because of it: it says what is wanted.
        this.#failure ??= { error };
      })
      .then(() => void this.#onTheirWay.delete(one));
    this.#onTheirWay.add(one);
  }

  /** Throws the error of the first push that failed, after all pushes have ended. */
  async room(): Promise<void> {
    while (this.#failure === undefined && this.#onTheirWay.size >= this.#most) await Promise.race(this.#onTheirWay);
    if (this.#failure !== undefined) await this.settled();
  }

  /** Resolves when no push is in flight. Throws as `room` does. */
  async settled(): Promise<void> {
    await Promise.all(this.#onTheirWay);
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
