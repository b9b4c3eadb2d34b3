/**
 * What the planner sees: units and pservers as the store shows them, and since when the pservers have been the same.
 *
 * Invariant: a live pserver that does not serve is `unknown` at first and `late` after a while, so that nothing waits
 * for it forever.
 *
 * Weakness: the times count from the first look of this process. A process that starts waits for a pserver that has
 * hung for long already.
 */
import type { Clock } from '../../../base/seams.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { PserverRecords } from '../../../cluster/placement/pserver-records.ts';
import type { SeenCopies, SeenSite } from '../../../core/units/due-copies.ts';
import type { SeenPserver } from '../../../core/units/due-moves.ts';

/** The pservers are the same, in the same state, for this long before anything is evened out. */
const SETTLE_MS = 1_000;
/** A live pserver that does not serve is waited for this long: one with a disk that hangs must not hold up repair. */
const LATE_MS = 30_000;

type ToldStatus = 'up' | 'loading' | 'draining' | 'down';

export interface SeenClusterOptions {
  readonly clock: Clock;
  readonly view: Pick<PlacementView, 'units' | 'live' | 'isLoaded'>;
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded'>;
}

export class SeenCluster {
  readonly #options: SeenClusterOptions;
  /** Unit → bytes, as a record last had them: a record names a unit only some time after its pserver has it. */
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
      const told = records.bytesOf(unit, last);
      if (told !== undefined) this.#bytes.set(unit, told);
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

  /** When the next of those that are waited for will be late. */
  nextLateAtMs(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const due = [...this.#unknownSinceMs.values()].map((sinceMs) => sinceMs + LATE_MS).filter((atMs) => atMs > nowMs);
    return due.length === 0 ? undefined : Math.min(...due);
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

  #statusOf(token: bigint, told: ToldStatus | undefined, sinceMs: number | undefined): SeenPserver['status'] {
    if (told === 'up') return 'up';
    if (told === 'draining') return 'leaving';
    const nowMs = this.#options.clock.monotonicMs();
    const unknownSinceMs = sinceMs ?? nowMs;
    this.#unknownSinceMs.set(token, unknownSinceMs);
    return nowMs < unknownSinceMs + LATE_MS ? 'unknown' : 'late';
  }
}
