/** Counts for /metrics what happens to the copies of units here, and how long units were without an applied update. */
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
  /** When a unit, led here or not, had its last update. */
  readonly #lastMs = new Map<number, number>();
  /** Units promoted to primary here because their primary died that have had no update: when the last one was. */
  readonly #promoted = new Map<number, number>();

  constructor(options: CountedChangesOptions) {
    this.#options = options;
  }

  /** A change of the head that was proposed here is made. */
  made(kind: HeadProposal['kind'], unit: number): void {
    if (kind === 'promote') this.#promotedNow(unit);
    else if (kind === 'remove') this.#options.metrics.removed();
    else if (kind === 'handOver') this.#options.metrics.handedOver();
  }

  /** These units have had an update. A unit is led when what was inherited is applied. */
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
