/** What a stranger sees of the units' moves: the keys of a job, followed. */
import { parseHead } from '../../src/cluster/placement/heads.ts';
import { parseDesired } from '../../src/cluster/placement/ps-desired.ts';
import { type Spread, spreadOf } from '../../src/cluster/placement/spread.ts';
import { createClock } from '../../src/host/clock.ts';
import { follow } from '../../src/store/follow.ts';
import type { Keys } from '../../src/store/keys.ts';
import type { KeyValue, Store } from '../../src/store/store.ts';

export interface MovesOptions {
  readonly store: Store;
  readonly keys: Keys;
  /** Number of units of the job. */
  readonly units: number;
  /** Pservers that the job wants: at the start, and when that changes. */
  readonly onDesired: (desired: number) => void;
}

export class MoveWatch {
  /** Units whose live primary gave them to another pserver. */
  moved = 0;
  /** Units that another pserver took because their primary was dead. */
  adopted = 0;
  readonly #options: MovesOptions;
  readonly #entries = new Map<string, KeyValue>();
  readonly #cancel: () => void;

  constructor(options: MovesOptions) {
    this.#options = options;
    const { store, keys } = options;
    this.#cancel = follow(
      store,
      `${keys.chroot}/`,
      {
        // Whose primary was alive is not known of what changed while the store was unreachable: that counts as no move.
        onSnapshot: (entries) => {
          this.#entries.clear();
          for (const entry of entries) this.#entries.set(entry.key, entry);
          this.#tellDesired();
        },
        onEvents: (events) => {
          for (const event of events) {
            if (event.type === 'delete') this.#entries.delete(event.key);
            else this.#put(event.entry);
          }
        },
        onEnd: (error) => {
          throw error;
        },
      },
      createClock(),
    );
  }

  stop(): void {
    this.#cancel();
  }

  /** The keys as they are now. */
  get entries(): ReadonlyMap<string, KeyValue> {
    return this.#entries;
  }

  /** Undefined before the job is published. */
  spread(): Spread | undefined {
    const { keys, units } = this.#options;
    const desired = this.#entries.get(keys.psDesired);
    if (desired === undefined) return undefined;
    const under = (prefix: string): KeyValue[] =>
      [...this.#entries.values()].filter(({ key }) => key.startsWith(prefix));
    const found = { owners: under(keys.psPrefix), heads: under(keys.headsPrefix), records: under(keys.pserversPrefix) };
    return spreadOf(keys, { units, desired: parseDesired(desired) }, found);
  }

  #put(entry: KeyValue): void {
    const { keys } = this.#options;
    const before = this.#entries.get(entry.key);
    this.#entries.set(entry.key, entry);
    if (entry.key === keys.psDesired) this.#tellDesired();
    if (before === undefined || !entry.key.startsWith(keys.headsPrefix)) return;
    const [old, now] = [before, entry].map(({ key, value }) => parseHead(key, value).primary);
    if (old!.index === now!.index) return;
    const owner = this.#entries.get(keys.ps(old!.index));
    if (owner?.createRevision.toString() === old!.token) this.moved += 1;
    else this.adopted += 1;
  }

  #tellDesired(): void {
    const desired = this.#entries.get(this.#options.keys.psDesired);
    if (desired !== undefined) this.#options.onDesired(parseDesired(desired));
  }
}
