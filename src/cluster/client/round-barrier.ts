/**
 * The barrier of sync mode on a trainer: it pushes lanes of round `r + 1` only after every pserver has confirmed
 * version `r + 1` (DESIGN §6). Keeps the newest version that each pserver is known to have reached.
 */
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';

export interface TimelineVersion {
  readonly timeline: number;
  readonly version: number;
}

export class RoundBarrier {
  readonly #byIndex = new Map<number, TimelineVersion & { readonly token: bigint }>();

  observe({ index, token }: PlacedPserver, { timeline, version }: TimelineVersion): void {
    this.#byIndex.set(index, { token, timeline, version });
  }

  /** True when every pserver of the placement is known to be past that version. */
  areAllPast({ pservers }: Placement, { timeline, version }: TimelineVersion): boolean {
    return pservers.every(({ index, token }) => {
      const last = this.#byIndex.get(index);
      return last?.token === token && last.timeline === timeline && last.version > version;
    });
  }
}
