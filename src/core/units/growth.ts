/**
 * Decides when a pserver may move units that are due only because their sizes have changed. Pservers report their sizes
 * at different moments, so while a model grows, the last one to report looks too heavy. So if the shares were even,
 * moves wait for a while. After a change of the cluster itself, moves start at once.
 */

/** How long moves must have been due before they start: all pservers report their sizes several times in this time. */
export const GROWN_MS = 5_000;

export interface Due {
  /** Whether a move is due. */
  readonly isDue: boolean;
  /** Whether a move is in progress. */
  readonly isMoving: boolean;
}

export class Growth {
  /** Whether, since the cluster last changed, there was a moment with no move due or in progress. */
  #wasEven = false;
  /** Time since which moves have been due. */
  #sinceMs: number | undefined;

  /** The set of pservers has changed, or the state of one of them. */
  clusterChanged(): void {
    this.#wasEven = false;
  }

  /** Time from which due moves may start: at once, or when they have been due for `GROWN_MS`. */
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
