/** Ledgers of many shards: shards with equal ones are a group, and share one. */
import { createLedger, type Ledger } from './ledger.ts';

export interface LedgerGroup {
  readonly ledger: Ledger;
  readonly shards: readonly number[];
  encoded: Uint8Array | undefined;
}

export class LedgerGroups {
  readonly #tasks: number;
  /** Never empty: without shards there is one of none. */
  #groups: readonly LedgerGroup[];
  /** By shard, where its group is in `#groups`; worked out when it is first asked for. */
  #places: ReadonlyMap<number, number> | undefined;
  /** With more groups than this it is worth to look for equal ones. */
  #many: number;

  /** `saved` has encoded ledgers; shards without one start empty. Throws `CheckpointCorrupt`. */
  constructor(tasks: number, shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>) {
    this.#tasks = tasks;
    this.#groups = groupEqual(tasks, shards, saved);
    this.#many = manyFor(this.#groups.length);
  }

  get all(): readonly LedgerGroup[] {
    return this.#groups;
  }

  of(shard: number): LedgerGroup | undefined {
    const place = this.#placeOf(shard);
    return place === undefined ? undefined : this.#groups[place];
  }

  /** To be read: groups that have one of the shards, each with those shards of its own. Without shards all groups. */
  among(only: readonly number[] | undefined): readonly LedgerGroup[] {
    if (only === undefined) return this.#groups;
    const counts = this.#countsOf(only);
    return this.#groups.flatMap((group, place) => {
      if (counts[place] === 0) return [];
      if (counts[place] === group.shards.length) return [group];
      return [{ ...group, shards: only.filter((shard) => this.#placeOf(shard) === place) }];
    });
  }

  /** To be changed: groups that have these shards and no others. Without shards all groups. */
  part(only: readonly number[] | undefined): readonly LedgerGroup[] {
    if (only === undefined) return this.#groups;
    const counts = this.#countsOf(only);
    const areWhole = this.#groups.every(({ shards }, place) => counts[place] === 0 || counts[place] === shards.length);
    if (areWhole) return this.#groups.filter((_, place) => counts[place] !== 0);
    const wanted = new Set(only);
    this.#set(this.#groups.flatMap((group) => parted(group, wanted)));
    return this.#groups.filter(({ shards: [first] }) => first !== undefined && wanted.has(first));
  }

  /**
   * As `merge`, but only when there are many: shards that get each update before the others do would part from them
   * again with the next one.
   */
  mergeIfMany(): void {
    if (this.#groups.length > this.#many) this.merge();
  }

  /** Ledgers that have become equal are kept as one again. */
  merge(): void {
    if (this.#groups.length === 1) return;
    const kept: LedgerGroup[] = [];
    for (const group of this.#groups) {
      const at = kept.findIndex(({ ledger }) => ledger.equals(group.ledger));
      const same = kept[at];
      if (same === undefined) kept.push(group);
      else kept[at] = { ...same, shards: [...same.shards, ...group.shards] };
    }
    this.#many = manyFor(kept.length);
    if (kept.length < this.#groups.length) this.#set(kept);
  }

  add(shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>): void {
    const added = groupEqual(this.#tasks, shards, saved);
    this.#set([...this.#groups.filter((group) => group.shards.length > 0), ...added]);
    this.merge();
  }

  remove(shards: readonly number[]): void {
    const gone = new Set(shards);
    const left = this.#groups.flatMap((group) => {
      const others = group.shards.filter((shard) => !gone.has(shard));
      return others.length === 0 ? [] : [{ ...group, shards: others }];
    });
    this.#set(left.length === 0 ? groupEqual(this.#tasks, [], new Map()) : left);
  }

  #set(groups: readonly LedgerGroup[]): void {
    this.#groups = groups;
    this.#places = undefined;
  }

  #placeOf(shard: number): number | undefined {
    this.#places ??= new Map(this.#groups.flatMap(({ shards }, place) => shards.map((one) => [one, place] as const)));
    return this.#places.get(shard);
  }

  /** By group: how many of these shards it has. */
  #countsOf(shards: readonly number[]): number[] {
    const counts = Array<number>(this.#groups.length).fill(0);
    for (const shard of shards) {
      const place = this.#placeOf(shard);
      if (place !== undefined) counts[place]! += 1;
    }
    return counts;
  }
}

const manyFor = (distinct: number): number => 2 * distinct + 2;

function groupEqual(tasks: number, shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>): LedgerGroup[] {
  const groups = new Map<string, { readonly encoded: Uint8Array | undefined; readonly shards: number[] }>();
  for (const shard of shards) {
    const encoded = saved.get(shard);
    const key = encoded === undefined ? '' : Buffer.from(encoded).toString('latin1');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { encoded, shards: [shard] });
    else group.shards.push(shard);
  }
  if (groups.size === 0) groups.set('', { encoded: undefined, shards: [] });
  return [...groups.values()].map((group) => ({ ...group, ledger: createLedger(tasks, group.encoded) }));
}

/** Two groups where only some of the shards are among those. */
function parted(group: LedgerGroup, wanted: ReadonlySet<number>): LedgerGroup[] {
  const [mine, others]: [number[], number[]] = [[], []];
  for (const shard of group.shards) (wanted.has(shard) ? mine : others).push(shard);
  if (mine.length === 0 || others.length === 0) return [group];
  return [
    { ...group, shards: others },
    { ...group, ledger: group.ledger.copy(), shards: mine },
  ];
}
