/** Counts changes of the copies of units for /metrics, and measures how long promoted units had no applied update. */
import type { Clock } from '../../../base/seams.ts';
import type { HeadProposal } from '../../../core/replicas/events.ts';
import type { OwnedHeads } from '../held/owned-heads.ts';
import type { CopyMetrics } from '../metrics.ts';

export interface CountedChangesOptions {
  readonly clock: Clock;
  readonly owned: { readonly heads: Pick<OwnedHeads, 'of'> };
  readonly metrics: CopyMetrics;
}

export class CountedChanges {
  readonly #options: CountedChangesOptions;
  /** Unit, led here or not → time of its last update. */
  readonly #lastMs = new Map<number, number>();
  /** Unit that was promoted here and has had no update since → time of its last update before. */
  readonly #promoted = new Map<number, number>();

  constructor(options: CountedChangesOptions) {
    this.#options = options;
  }

  /** The store has made a change of the head that this pserver proposed. */
  made(kind: HeadProposal['kind'], unit: number): void {
    if (kind === 'promote') this.#promotedNow(unit);
    else if (kind === 'remove') this.#options.metrics.removed();
    else if (kind === 'handOver') this.#options.metrics.handedOver();
  }

  /** These units have had an update. A promoted unit resumes with the first update after the inherited ones. */
  applied(units: readonly number[]): void {
    const { clock, owned, metrics } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const unit of units) {
      const sinceMs = this.#promoted.get(unit);
      if (sinceMs !== undefined && owned.heads.of(unit) !== undefined) {
        this.#promoted.delete(unit);
        metrics.resumed(nowMs - sinceMs);
      }
      this.#lastMs.set(unit, nowMs);
    }
  }

  dropped(updates: number): void {
    this.#options.metrics.dropped(updates);
  }

  joined(isMember: boolean): void {
    this.#options.metrics.joined(isMember ? 'joined' : 'failed');
  }

  #promotedNow(unit: number): void {
    this.#options.metrics.promoted();
    const lastMs = this.#lastMs.get(unit);
    if (lastMs !== undefined) this.#promoted.set(unit, lastMs);
  }
}
