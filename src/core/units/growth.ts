/**
 * When units may go that are due only because sizes have changed. Pservers tell their sizes at different moments, and
 * while a model grows the last to tell looks too heavy. So a share that was even waits for a while. When the cluster
 * itself has changed there is nothing to wait for.
 */

/** For so long a share that has grown stays too large before units go: some rounds of all pservers telling sizes. */
export const GROWN_MS = 5_000;

export interface Due {
  /** Something is due. */
  readonly isDue: boolean;
  /** What was started has not ended yet. */
  readonly isMoving: boolean;
}

export class Growth {
  /** Nothing was due, and nothing moving, since the cluster changed. */
  #wasEven = false;
  /** Time since which something is due again. */
  #sinceMs: number | undefined;

  /** Other pservers are there, or in another state. */
  clusterChanged(): void {
    this.#wasEven = false;
  }

  /** From when on what is due may begin: at once, or when it has been due for long enough. */
  observe({ isDue, isMoving }: Due, nowMs: number): number {
    if (!isDue) {
      this.#sinceMs = undefined;
      if (!isMoving) this.#wasEven = true;
      return Number.NEGATIVE_INFINITY;
    }
    if (!this.#wasEven) return Number.NEGATIVE_INFINITY;
    this.#sinceMs ??= nowMs;
    return this.#sinceMs + GROWN_MS;
  }
}
