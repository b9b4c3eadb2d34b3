/**
 * Shows in the store which pservers hold the shards of the units led here (`/pshards`). It writes a moment after the
 * heads have changed. If a pserver dies, many heads change together, and more important transactions must come first.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import { type ShowReplicas, showReplicas } from '../../../cluster/placement/show-replicas.ts';
import type { OwnedHeads } from '../held/owned-heads.ts';

export interface ShownHeadsOptions extends ShowReplicas {
  readonly heads: Pick<OwnedHeads, 'of'>;
  /** Aborts when this process loses its index. */
  readonly lost: AbortSignal;
  readonly onFatal: (error: unknown) => void;
}

const SHOWN_AFTER_MS = 1_000;

export class ShownHeads {
  readonly #options: ShownHeadsOptions;
  #units = new Set<number>();
  /** Cancels the write that is due. */
  #cancel: Cancel | undefined;
  #isWriting = false;
  #isClosed = false;

  constructor(options: ShownHeadsOptions) {
    this.#options = options;
  }

  changed(unit: number): void {
    this.#units.add(unit);
    this.#plan();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #plan(): void {
    const { context, onFatal } = this.#options;
    if (this.#isClosed || this.#isWriting || this.#cancel !== undefined || this.#units.size === 0) return;
    this.#cancel = context.host.clock.after(SHOWN_AFTER_MS, () => {
      this.#cancel = undefined;
      this.#write().catch(onFatal);
    });
  }

  async #write(): Promise<void> {
    const { heads, lost } = this.#options;
    const changed = [...this.#units].flatMap((unit) => heads.of(unit) ?? []);
    this.#units = new Set();
    this.#isWriting = true;
    try {
      await showReplicas(this.#options, changed);
    } catch (error) {
      // The pservers that now lead the units will show them.
      if (!isPaddletError(error, 'Interrupted') && !lost.aborted) throw error;
    } finally {
      this.#isWriting = false;
    }
    this.#plan();
  }
}
