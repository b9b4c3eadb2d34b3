/** Where each unit of a job is: worked out from the claims of the indexes (`/ps/`) and the heads of the units. */
import type { Grouping } from '../../core/units/units.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue } from '../../store/store.ts';
import { type Head, type Owner, parseHead } from './heads.ts';
import type { StoredHead } from './propose-heads.ts';

/** Keyed by key. */
export type Entries = ReadonlyMap<string, KeyValue>;

export const byKey = (entries: readonly KeyValue[]): Entries => new Map(entries.map((entry) => [entry.key, entry]));

export const indexAfter = (prefix: string, { key }: { readonly key: string }): number =>
  Number(key.slice(prefix.length));

/** A live pserver with its claim. */
export interface LivePserver {
  readonly index: number;
  readonly address: string;
  readonly token: bigint;
}

export interface OrphanUnit {
  readonly unit: number;
  /** Undefined when it never had a primary. */
  readonly head: KeyValue | undefined;
}

/** Where a unit is. */
export interface UnitPlace extends OrphanUnit {
  /** Index of its primary, alive or not; undefined when it never had one. */
  readonly last: number | undefined;
  readonly led: number;
  /** The claim of its primary, if that is alive. */
  readonly owner: KeyValue | undefined;
  readonly stored: StoredHead | undefined;
  /** Live members of its in-sync set, its primary included. */
  readonly copies: readonly LivePserver[];
  /**
   * The primary has lost its index, and a live member of the in-sync set will be promoted. After a clean stop the last
   * state of the unit is in a file: then no copy takes over.
   */
  readonly hasCopy: boolean;
}

/** Heads stay as they are while others change. */
const parsedHeads = new WeakMap<KeyValue, Head>();

function headIn(entry: KeyValue): Head {
  const head = parsedHeads.get(entry) ?? parseHead(entry.key, entry.value);
  parsedHeads.set(entry, head);
  return head;
}

export interface PlacedEntries {
  readonly owners: Entries;
  readonly heads: Entries;
}

/** All units, ascending. Throws like `parseHead`. */
export const placesIn = (keys: Keys, { units }: Pick<Grouping, 'units'>, entries: PlacedEntries): UnitPlace[] =>
  Array.from({ length: units }, (_, unit) => placeIn(keys, unit, entries));

function placeIn(keys: Keys, unit: number, { owners, heads }: PlacedEntries): UnitPlace {
  const entry = heads.get(keys.head(unit));
  if (entry === undefined) return { unit, ...WITHOUT_HEAD };
  const head = headIn(entry);
  const { primary, led, inSync, rest } = head;
  const claimOf = ({ index, token }: Owner): KeyValue | undefined => {
    const claim = owners.get(keys.ps(index));
    return claim?.createRevision.toString() === token ? claim : undefined;
  };
  const owner = claimOf(primary);
  const copies = inSync.flatMap((member) => {
    const claim = claimOf(member);
    return claim === undefined ? [] : [livePserver(member.index, claim)];
  });
  return {
    ...{ unit, head: entry, last: primary.index, led, owner },
    stored: { unit, head, modRevision: entry.modRevision },
    ...{ copies, hasCopy: owner === undefined && rest === undefined && copies.length > 0 },
  };
}

const WITHOUT_HEAD = {
  ...{ head: undefined, last: undefined, led: 0, owner: undefined, stored: undefined },
  ...{ copies: [], hasCopy: false },
};

export const livePserver = (index: number, claim: KeyValue): LivePserver => {
  return { index, address: claim.value, token: claim.createRevision };
};
