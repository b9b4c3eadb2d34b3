/** What is told of the copies of units here, and decides nothing: /metrics, and who holds what in the store. */
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

  /** A change of the head that was proposed here is made. */
  made(kind: HeadProposal['kind'], unit: number): void {
    this.#counted.made(kind, unit);
    this.#shown.changed(unit);
  }

  /** The unit is led here now. */
  led(unit: number): void {
    this.#shown.changed(unit);
  }

  /** These units, led here or not, have had an update. */
  applied(units: readonly number[]): void {
    this.#counted.applied(units);
  }

  /** So many updates of a unit. */
  dropped(updates: number): void {
    this.#counted.dropped(updates);
  }

  /** A copy that was made for another pserver. */
  joined(isMember: boolean): void {
    this.#counted.joined(isMember);
  }

  close(): void {
    this.#shown.close();
  }
}
