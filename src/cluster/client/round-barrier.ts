/**
 * The barrier of sync mode on a trainer: it pushes lanes of round `r + 1` only after every unit of shards has been
 * confirmed to have version `r + 1` (docs/modes.md). Keeps the newest version that each unit is known to have
 * reached. That is kept by unit, never by pserver: a unit at `r` may move to a pserver whose other units were confirmed
 * before. It stays true when the unit moves, as only a new timeline sets a unit back.
 */
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';

export interface TimelineVersion {
  readonly timeline: number;
  readonly version: number;
}

export class RoundBarrier {
  readonly #byUnit = new Map<number, TimelineVersion>();

  /** An answer says so of all units that the pserver led when it was asked: it refuses requests that mean others. */
  observe({ units }: Pick<PlacedPserver, 'units'>, { timeline, version }: TimelineVersion): void {
    const confirmed = { timeline, version };
    for (const { unit } of units) {
      const known = this.#byUnit.get(unit);
      if (known?.timeline === timeline && known.version >= version) continue;
      this.#byUnit.set(unit, confirmed);
    }
  }

  /** True when every unit of the placement is known to be past that version. */
  areAllPast({ pservers }: Placement, { timeline, version }: TimelineVersion): boolean {
    return pservers.every(({ units }) =>
      units.every(({ unit }) => {
        const last = this.#byUnit.get(unit);
        return last?.timeline === timeline && last.version > version;
      }),
    );
  }
}
