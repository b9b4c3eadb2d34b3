/** What is known of the head of each unit: the newest that the store has shown, or has answered about a proposal. */
import type { StoredHead } from '../../../cluster/placement/propose-heads.ts';
import type { UnitHead } from '../../../core/replicas/events.ts';

export class KnownHeads {
  readonly #heads = new Map<number, StoredHead>();

  of(unit: number): StoredHead | undefined {
    return this.#heads.get(unit);
  }

  /** Views, reads and answers may come in any order. */
  learn(head: StoredHead): void {
    const known = this.#heads.get(head.unit);
    if (known === undefined || known.modRevision < head.modRevision) this.#heads.set(head.unit, head);
  }
}

export const unitHeadOf = ({ head: { epoch, primary, inSync } }: StoredHead): UnitHead => ({ epoch, primary, inSync });
