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

  /** Throws what the first one that failed has thrown, when none is on its way any more. */
  async room(): Promise<void> {
    while (this.#failure === undefined && this.#onTheirWay.size >= this.#most) await Promise.race(this.#onTheirWay);
    if (this.#failure !== undefined) await this.settled();
  }

  /** None is on its way any more. Throws as `room` does. */
  async settled(): Promise<void> {
    await Promise.all(this.#onTheirWay);
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
