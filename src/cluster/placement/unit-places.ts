/** Where each unit of a job is: worked out from the claims of the indexes (`/ps/`) and the heads of the units. */
import type { Grouping } from '../../core/units/units.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue } from '../../store/store.ts';
import { type Head, parseHead } from './heads.ts';

/** By key. */
export type Entries = ReadonlyMap<string, KeyValue>;

export const byKey = (entries: readonly KeyValue[]): Entries => new Map(entries.map((entry) => [entry.key, entry]));

export const indexAfter = (prefix: string, { key }: { readonly key: string }): number =>
  Number(key.slice(prefix.length));

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
}

/** Heads stay as they are while others change. */
const parsedHeads = new WeakMap<KeyValue, Head>();

function headIn(entry: KeyValue): Head {
  const head = parsedHeads.get(entry) ?? parseHead(entry.key, entry.value);
  parsedHeads.set(entry, head);
  return head;
}

/** All units, ascending. Throws like `parseHead`. */
export const placesIn = (
  keys: Keys,
  { units }: Pick<Grouping, 'units'>,
  { owners, heads }: { readonly owners: Entries; readonly heads: Entries },
): UnitPlace[] =>
  Array.from({ length: units }, (_, unit) => {
    const entry = heads.get(keys.head(unit));
    if (entry === undefined) return { unit, head: undefined, last: undefined, led: 0, owner: undefined };
    const { primary, led } = headIn(entry);
    const claim = owners.get(keys.ps(primary.index));
    const owner = claim?.createRevision.toString() === primary.token ? claim : undefined;
    return { unit, head: entry, last: primary.index, led, owner };
  });
