/**
 * Eviction of what is unseen for long: when a shard looks, and what it removes then (docs/decisions/0168). Everything
 * here depends on the shard's own updates alone, so all copies of the shard look at the same update.
 *
 * `seen` of a row is the `seq` of the last update that named it. It is stored as a u32, counted from a base of the
 * shard, which moves up before `seen` overflows.
 */
import { assert } from '../../base/assert.ts';

/** Evicts what no update has named in this number of complete passes, or in this number of updates of the shard. */
export type Eviction = { readonly unseenPasses: number } | { readonly unseenUpdates: number };

export interface LookRules {
  readonly shards: number;
  /** The eviction rule of each table; undefined if the table has none. */
  readonly evictions: readonly (Eviction | undefined)[];
  /** Number of values of a stored `seen`: 2^32, or less in a test. */
  readonly seenRange: number;
  /** The looks of all shards are spread over this many updates. */
  readonly spread: number;
}

/** The numbers that jobs use. Tests use smaller ones. */
export const SEEN_RANGE = 2 ** 32;
export const LOOK_SPREAD = 64;

/** State of a shard. It is saved, moved and copied with the shard. */
export interface LookState {
  /** The `seq` from which the stored `seen` counts. */
  readonly base: number;
  /** `seq` of the update that moves the base; undefined if no move is due. */
  readonly moveAt: number | undefined;
  /**
   * [pass, begin], passes ascending. The begin is the `seq` before the first push or round of that pass or a later one.
   */
  readonly begins: readonly (readonly [number, number])[];
  /** `seq` of the update that looks at each table; undefined if no look is due. */
  readonly lookAt: readonly (number | undefined)[];
}

/** What a shard does after an update, in this order. */
export interface LooksDue {
  /** Remove the rows and candidates of `table` whose stored `seen` is at most `seen`. */
  readonly removals: readonly { readonly table: number; readonly seen: number }[];
  /** Lower every stored `seen` by this, but not below 0. Undefined: do not. */
  readonly lowerSeenBy: number | undefined;
}

/** Returns whether a state from outside fits the rules, and the number of updates of the shard. */
export function isStateOf({ evictions, spread }: LookRules, state: LookState, seq: number): boolean {
  const isDue = (at: number | undefined): boolean => at === undefined || (at > seq && at <= seq + spread);
  return (
    state.base <= seq &&
    isDue(state.moveAt) &&
    state.lookAt.length === evictions.length &&
    state.lookAt.every((at, table) => isDue(at) && (at === undefined || evictions[table] !== undefined)) &&
    state.begins.every(([, begin]) => begin <= seq)
  );
}

const NOTHING: LooksDue = { removals: [], lowerSeenBy: undefined };

/** The looks of one shard. */
export class Looks {
  readonly #rules: LookRules;
  readonly #delay: number;
  /** The most passes that a table counts; undefined: no table counts passes. */
  readonly #passes: number | undefined;
  #base: number;
  #moveAt: number | undefined;
  readonly #begins: Map<number, number>;
  readonly #lookAt: (number | undefined)[];

  constructor(rules: LookRules, shard: number, state?: LookState) {
    this.#rules = rules;
    // At most `spread`.
    this.#delay = Math.floor((rules.spread * shard) / rules.shards) + 1;
    const passes = rules.evictions.flatMap((one) =>
      one !== undefined && 'unseenPasses' in one ? one.unseenPasses : [],
    );
    this.#passes = passes.length === 0 ? undefined : Math.max(...passes);
    this.#base = state?.base ?? 0;
    this.#moveAt = state?.moveAt;
    this.#begins = new Map(state?.begins);
    this.#lookAt = [...(state?.lookAt ?? rules.evictions.map(() => undefined))];
  }

  get base(): number {
    return this.#base;
  }

  state(): LookState {
    return {
      ...{ base: this.#base, moveAt: this.#moveAt, lookAt: [...this.#lookAt] },
      begins: [...this.#begins].sort(([a], [b]) => a - b),
    };
  }

  /**
   * Call this before a push or round of `pass` is applied, with the `seq` and the watermark before it: `watermark`
   * passes are complete in the shard.
   */
  begin(pass: number, seq: number, watermark: number): void {
    for (let one = this.#firstBegin(watermark); one <= pass; one++)
      if (!this.#begins.has(one)) this.#begins.set(one, seq);
  }

  /** Call this after each update, a close of one task among them. `before` is the watermark before the update. */
  after(seq: number, before: number, watermark: number): LooksDue {
    this.#makeDue(seq, watermark > before);
    if (watermark > before) this.#forget(this.#firstBegin(watermark));
    const isMoving = this.#moveAt === seq;
    if (!isMoving && !this.#lookAt.includes(seq)) return NOTHING;
    const removals = this.#lookAt.flatMap((at, table) => (at === seq ? this.#look(table, seq, watermark) : []));
    return { removals, lowerSeenBy: isMoving ? this.#moveBase() : undefined };
  }

  /** The first pass whose begin a look may need. */
  #firstBegin(watermark: number): number {
    return this.#passes === undefined ? Number.POSITIVE_INFINITY : Math.max(0, watermark - this.#passes);
  }

  #forget(first: number): void {
    for (const pass of this.#begins.keys()) if (pass < first) this.#begins.delete(pass);
  }

  #makeDue(seq: number, isWatermarkRaised: boolean): void {
    const { evictions, seenRange, spread } = this.#rules;
    evictions.forEach((eviction, table) => {
      if (eviction === undefined) return;
      const isDue = 'unseenPasses' in eviction ? isWatermarkRaised : seq % Math.ceil(eviction.unseenUpdates / 8) === 0;
      // A look that is already due does not move: it uses the watermark, begins and `seq` of its own moment.
      if (isDue) this.#lookAt[table] ??= seq + this.#delay;
    });
    if (seq - this.#base >= seenRange - 2 * spread) this.#moveAt ??= seq + this.#delay;
  }

  #look(table: number, seq: number, watermark: number): { table: number; seen: number }[] {
    this.#lookAt[table] = undefined;
    const eviction = this.#rules.evictions[table];
    assert(eviction !== undefined, 'a table that looks evicts');
    // A begin is undefined until the shard applies an update of that pass or a later one.
    const last =
      'unseenUpdates' in eviction ? seq - eviction.unseenUpdates : this.#begins.get(watermark - eviction.unseenPasses);
    return last === undefined || last < this.#base ? [] : [{ table, seen: last - this.#base }];
  }

  #moveBase(): number {
    const by = this.#rules.seenRange / 2;
    this.#moveAt = undefined;
    this.#base += by;
    return by;
  }
}
