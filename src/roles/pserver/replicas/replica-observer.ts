/** Reports about the copies of units here, in /metrics and in the `/pshards` keys of the store. It decides nothing. */
import type { HeadProposal } from '../../../core/replicas/events.ts';
import type { CountedChanges } from './counted-changes.ts';
import type { ShownHeads } from './shown-heads.ts';

export class ReplicaObserver {
  readonly #counted: CountedChanges;
  readonly #shown: ShownHeads;

  constructor(counted: CountedChanges, shown: ShownHeads) {
    this.#counted = counted;
    this.#shown = shown;
  }

  /** The store has made a change of the head that this pserver proposed. */
  made(kind: HeadProposal['kind'], unit: number): void {
    this.#counted.made(kind, unit);
    this.#shown.changed(unit);
  }

  /** This pserver now leads the unit. */
  led(unit: number): void {
    this.#shown.changed(unit);
  }

  /** These units, led here or not, have had an update. */
  applied(units: readonly number[]): void {
    this.#counted.applied(units);
  }

  /** A unit has dropped this number of updates. */
  dropped(updates: number): void {
    this.#counted.dropped(updates);
  }

  /** The join of a copy that was made for another pserver has ended. */
  joined(isMember: boolean): void {
    this.#counted.joined(isMember);
  }

  close(): void {
    this.#shown.close();
  }
}
