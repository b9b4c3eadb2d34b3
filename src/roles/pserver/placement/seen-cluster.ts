/**
 * The planner's view of the cluster: units and pservers according to the store, and since when the set of pservers has
 * been the same.
 *
 * Invariant: a live pserver that does not serve is `unknown` at first and `late` after a while, so that the planner
 * does not wait for it forever.
 *
 * Weakness: the times count from the first look of this process. So a process that starts also waits for a pserver that
 * has been hanging for a long time.
 */
import type { Clock } from '../../../base/seams.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { PserverRecords } from '../../../cluster/placement/pserver-records.ts';
import type { SeenCopies, SeenSite } from '../../../core/units/due-copies.ts';
import type { SeenPserver } from '../../../core/units/due-moves.ts';

/** The pservers are the same, in the same state, for this long before anything is evened out. */
const SETTLE_MS = 1_000;
/** How long to wait for a live pserver that does not serve: one with a hanging disk must not hold up repair. */
const LATE_MS = 30_000;

type ReportedStatus = 'up' | 'loading' | 'draining' | 'down';

export interface SeenClusterOptions {
  readonly clock: Clock;
  readonly view: Pick<PlacementView, 'units' | 'live' | 'isLoaded'>;
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded'>;
}

export class SeenCluster {
  readonly #options: SeenClusterOptions;
  /** Unit → bytes in the last record with the unit: a record names a unit only some time after its pserver leads it. */
  readonly #bytes = new Map<number, number>();
  /** Token of a live pserver → when it was first seen not to serve. */
  #unknownSinceMs = new Map<bigint, number>();
  #cluster = '';
  #sinceMs = 0;

  constructor(options: SeenClusterOptions) {
    this.#options = options;
  }

  isLoaded(): boolean {
    const { view, records } = this.#options;
    return view.isLoaded() && records.isLoaded();
  }

  units(): SeenCopies[] {
    const { view, records } = this.#options;
    return view.units().map(({ unit, last, owner, copies }) => {
      const reported = records.bytesOf(unit, last);
      if (reported !== undefined) this.#bytes.set(unit, reported);
      const leader = owner === undefined ? undefined : last;
      return { unit, leader, bytes: this.#bytes.get(unit), inSync: copies.map(({ index }) => index) };
    });
  }

  pservers(): SeenSite[] {
    const { view, records } = this.#options;
    const before = this.#unknownSinceMs;
    this.#unknownSinceMs = new Map();
    return view.live().map(({ index, token }) => {
      const record = records.of(index);
      const status = this.#statusOf(token, record?.status, before.get(token));
      return { index, status, host: record?.hostLabel, zone: record?.zone };
    });
  }

  /** When the next `unknown` pserver becomes `late`. */
  nextLateAtMs(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const due = [...this.#unknownSinceMs.values()].map((sinceMs) => sinceMs + LATE_MS).filter((atMs) => atMs > nowMs);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** When the pservers will have been the same for long enough. Calls `onChanged` if they have changed. */
  settledAtMs(onChanged: () => void): number {
    const { clock, view } = this.#options;
    const states = this.pservers().map(({ index, status }) => [index, status]);
    const cluster = JSON.stringify([states, view.live().map(({ token }) => token.toString())]);
    if (cluster !== this.#cluster) {
      this.#sinceMs = clock.monotonicMs();
      onChanged();
    }
    this.#cluster = cluster;
    return this.#sinceMs + SETTLE_MS;
  }

  #statusOf(token: bigint, reported: ReportedStatus | undefined, sinceMs: number | undefined): SeenPserver['status'] {
    if (reported === 'up') return 'up';
    if (reported === 'draining') return 'leaving';
    const nowMs = this.#options.clock.monotonicMs();
    const unknownSinceMs = sinceMs ?? nowMs;
    this.#unknownSinceMs.set(token, unknownSinceMs);
    return nowMs < unknownSinceMs + LATE_MS ? 'unknown' : 'late';
  }
}
