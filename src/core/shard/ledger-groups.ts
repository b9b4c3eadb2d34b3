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
  #groups: LedgerGroup[];

  /** `saved` has encoded ledgers; shards without one start empty. Throws `CheckpointCorrupt`. */
  constructor(tasks: number, shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>) {
    this.#tasks = tasks;
    this.#groups = groupEqual(tasks, shards, saved);
  }

  get all(): readonly LedgerGroup[] {
    return this.#groups;
  }

  /** To be read: groups that have one of the shards, each with those shards of its own. Without shards all groups. */
  among(only: readonly number[] | undefined): readonly LedgerGroup[] {
    if (only === undefined) return this.#groups;
    const wanted = new Set(only);
    return this.#groups.flatMap((group) => {
      const shards = group.shards.filter((shard) => wanted.has(shard));
      return shards.length === 0 ? [] : [{ ...group, shards }];
    });
  }

  /** To be changed: groups that have these shards and no others. Without shards all groups. */
  part(only: readonly number[] | undefined): readonly LedgerGroup[] {
    if (only === undefined) return this.#groups;
    const wanted = new Set(only);
    this.#groups = this.#groups.flatMap((group) => parted(group, wanted));
    return this.#groups.filter(({ shards: [first] }) => first !== undefined && wanted.has(first));
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
    this.#groups = kept;
  }

  add(shards: readonly number[], saved: ReadonlyMap<number, Uint8Array>): void {
    const added = groupEqual(this.#tasks, shards, saved);
    this.#groups = [...this.#groups.filter((group) => group.shards.length > 0), ...added];
    this.merge();
  }

  remove(shards: readonly number[]): void {
    const gone = new Set(shards);
    this.#groups = this.#groups.flatMap((group) => {
      const left = group.shards.filter((shard) => !gone.has(shard));
      return left.length === 0 ? [] : [{ ...group, shards: left }];
    });
    if (this.#groups.length === 0) this.#groups = groupEqual(this.#tasks, [], new Map());
  }
}

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
