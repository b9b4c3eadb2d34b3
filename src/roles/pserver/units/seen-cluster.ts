/** What a pserver plans by: the cluster as the store shows it, and for how long it has been so. */
import type { Clock } from '../../../base/seams.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { PserverRecords } from '../../../cluster/placement/pserver-records.ts';
import type { SeenCopies, SeenSite } from '../../../core/units/due-copies.ts';
import type { SeenPserver } from '../../../core/units/due-moves.ts';

/** For so long the same pservers are there, in the same state, before anything is evened out. */
const SETTLE_MS = 1_000;

export interface SeenClusterOptions {
  readonly clock: Clock;
  readonly view: Pick<PlacementView, 'units' | 'live' | 'isLoaded'>;
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded'>;
}

export class SeenCluster {
  readonly #options: SeenClusterOptions;
  /** Bytes of units as they were told last: a record has a unit only after a while. */
  readonly #bytes = new Map<number, number>();
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
      const told = records.bytesOf(unit, last);
      if (told !== undefined) this.#bytes.set(unit, told);
      const leader = owner === undefined ? undefined : last;
      return { unit, leader, bytes: this.#bytes.get(unit), inSync: copies.map(({ index }) => index) };
    });
  }

  pservers(): SeenSite[] {
    const { view, records } = this.#options;
    return view.live().map(({ index }) => {
      const record = records.of(index);
      return { index, status: statusIn(record?.status), host: record?.hostLabel, zone: record?.zone };
    });
  }

  /** When the pservers will have been the same for long enough. `onChanged` is called when they are others. */
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
}

function statusIn(told: 'up' | 'loading' | 'draining' | 'down' | undefined): SeenPserver['status'] {
  if (told === 'up') return 'up';
  return told === 'draining' ? 'leaving' : 'unknown';
}
