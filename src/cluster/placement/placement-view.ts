/**
 * The placement as the store has it: which pserver is primary of which unit of shards, and its address. Trainers and
 * the master follow it; it is never computed from ids (docs/design.md §3).
 */
import { type LedUnit, type PlacementStamp, stampOf } from '../../core/placement.ts';
import { type Grouping, shardsOfUnit } from '../../core/units/units.ts';
import { follow } from '../../store/follow.ts';
import { followKey } from '../../store/follow-key.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import type { StoreContext } from '../context.ts';
import { createSignal, type Signal } from '../waiting.ts';
import { parseDesired } from './ps-desired.ts';
import {
  byKey,
  type Entries,
  indexAfter,
  type LivePserver,
  livePserver,
  type OrphanUnit,
  placesIn,
  type UnitPlace,
} from './unit-places.ts';

export type { LivePserver };

export interface PlacedPserver {
  readonly index: number;
  readonly address: string;
  readonly token: bigint;
  readonly stamp: PlacementStamp;
  /** Units that it leads. */
  readonly units: readonly LedUnit[];
}

/** A placement in which every unit has a live primary. */
export interface Placement {
  /** Changes with every change of the placement. */
  readonly version: number;
  /** Shard → position in `pservers`. */
  readonly primaryOf: Int32Array;
  /** Pservers that lead a unit, by ascending index. */
  readonly pservers: readonly PlacedPserver[];
}

export interface PlacementView {
  readonly changed: Signal;
  /** Whether all pservers and heads have been read once. */
  isLoaded(): boolean;
  /** The present placement, or undefined while a unit lacks a live primary. */
  current(): Placement | undefined;
  /** Changes with every change that is seen of pservers and heads. */
  version(): number;
  /** What is missing, for people. */
  missing(): string;
  /** Indexes with a live pserver. */
  liveIndexes(): number[];
  /** Live pservers by ascending index. */
  live(): LivePserver[];
  /** All of them, ascending; none until the store has answered. */
  units(): readonly UnitPlace[];
  /** The number of pservers that the job should have; undefined until the store has answered. */
  desired(): number | undefined;
  /** Units without a live primary or copy to take its place; none until the store has answered. */
  orphans(): OrphanUnit[];
  /** Whether this very owner still has its index; true until the store has answered. */
  isLive(index: number, token: bigint): boolean;
  cancel(): void;
}

interface Mirror {
  readonly entries: Map<string, KeyValue>;
  loaded: boolean;
}

/** `onFatal` is called when the store can no longer be followed. */
export function followPlacement(
  context: Pick<StoreContext, 'host' | 'store' | 'keys'>,
  job: Grouping,
  onFatal: (error: Error) => void,
): PlacementView {
  const { keys, store } = context;
  const changed = createSignal();
  const owners: Mirror = { entries: new Map(), loaded: false };
  const heads: Mirror = { entries: new Map(), loaded: false };
  let desired: number | undefined;
  let version = 0;
  let built: Built | undefined;
  let places: readonly UnitPlace[] | undefined;

  const mirror = (prefix: string, into: Mirror) =>
    follow(
      store,
      prefix,
      {
        onSnapshot: (entries) => {
          into.entries.clear();
          for (const entry of entries) into.entries.set(entry.key, entry);
          into.loaded = true;
          invalidate();
        },
        onEvents: (events) => {
          for (const event of events) {
            if (event.type === 'put') into.entries.set(event.entry.key, event.entry);
            else into.entries.delete(event.key);
          }
          invalidate();
        },
        onEnd: onFatal,
      },
      context.host.clock,
    );
  const invalidate = (): void => {
    built = undefined;
    places = undefined;
    version += 1;
    changed.notify();
  };
  const onDesired = (entry: KeyValue | undefined): void => {
    if (entry === undefined) return;
    desired = parseDesired(entry);
    invalidate();
  };
  const cancels = [
    mirror(keys.psPrefix, owners),
    mirror(keys.headsPrefix, heads),
    followKey(store, keys.psDesired, { onValue: onDesired, onEnd: onFatal }, context.host.clock),
  ];
  const isLoaded = (): boolean => owners.loaded && heads.loaded && desired !== undefined;
  const units = (): readonly UnitPlace[] => {
    if (!isLoaded()) return [];
    places ??= placesIn(keys, job, { owners: owners.entries, heads: heads.entries });
    return places;
  };
  const view = (): Built => {
    if (!isLoaded()) return { placement: undefined, missing: 'the store' };
    built ??= build(keys, { ...job, desired: desired! }, { owners: owners.entries, places: units(), version });
    return built;
  };
  return {
    changed,
    isLoaded,
    current: () => view().placement,
    version: () => version,
    missing: () => view().missing,
    liveIndexes: () => liveIn(keys, owners.entries).map(({ index }) => index),
    live: () => liveIn(keys, owners.entries),
    units,
    desired: () => desired,
    orphans: () => units().flatMap((place) => (place.owner !== undefined || place.hasCopy ? [] : [orphanOf(place)])),
    isLive: (index, token) => !owners.loaded || owners.entries.get(keys.ps(index))?.createRevision === token,
    cancel: () => {
      for (const cancel of cancels) cancel();
    },
  };
}

const orphanOf = ({ unit, head }: UnitPlace): OrphanUnit => ({ unit, head });

interface Built {
  readonly placement: Placement | undefined;
  readonly missing: string;
}

/** A unit with a live primary. */
interface PlacedUnit extends LedUnit {
  /** The primary's claim. */
  readonly owner: KeyValue;
}

const placedIn = (places: readonly UnitPlace[]): PlacedUnit[] =>
  places.flatMap(({ unit, led, owner }) => (owner === undefined ? [] : [{ unit, led, owner }]));

interface Wanted extends Grouping {
  readonly desired: number;
}

function build(
  keys: Keys,
  job: Wanted,
  { owners, places, version }: { owners: Entries; places: readonly UnitPlace[]; version: number },
): Built {
  const placed = placedIn(places);
  if (placed.length < job.units) {
    return { placement: undefined, missing: missingIn(job, liveIn(keys, owners), job.units - placed.length) };
  }
  return { placement: placementOf(keys, job, placed, version), missing: '' };
}

/** The placement, once all units have a live primary. */
function placementOf(keys: Keys, job: Grouping, placed: readonly PlacedUnit[], version: number): Placement {
  const byOwner = [...Map.groupBy(placed, ({ owner }) => owner)].map(([owner, units]) => {
    return { index: indexAfter(keys.psPrefix, owner), owner, units };
  });
  byOwner.sort((a, b) => a.index - b.index);
  const primaryOf = new Int32Array(job.shards);
  const pservers = byOwner.map(({ index, owner, units }, position): PlacedPserver => {
    const led = units.map(({ unit, led }) => ({ unit, led }));
    for (const { unit } of units) for (const shard of shardsOfUnit(unit, job)) primaryOf[shard] = position;
    return { index, address: owner.value, token: owner.createRevision, stamp: stampOf(led, job), units: led };
  });
  return { version, primaryOf, pservers };
}

/** The placement as it is now; undefined when a unit lacks a live primary. */
export async function readPlacement(store: Store, keys: Keys, job: Grouping): Promise<Placement | undefined> {
  const [owners, heads] = await Promise.all(
    [keys.psPrefix, keys.headsPrefix].map(async (prefix) => byKey((await store.range({ prefix })).entries)),
  );
  const placed = placedIn(placesIn(keys, job, { owners: owners!, heads: heads! }));
  return placed.length < job.units ? undefined : placementOf(keys, job, placed, 0);
}

function missingIn(job: Wanted, live: readonly LivePserver[], orphans: number): string {
  const present = new Set(live.map(({ index }) => index));
  const absent = Array.from({ length: job.desired }, (_, index) => index).filter((index) => !present.has(index));
  if (absent.length === 0) return `pservers to take ${orphans} of ${job.units} units of shards`;
  return `pserver ${absent.join(', ')} (${job.desired - absent.length} of ${job.desired} are running)`;
}

/** Live pservers by ascending index. */
const liveIn = (keys: Keys, owners: Entries): LivePserver[] =>
  [...owners.values()]
    .map((entry) => livePserver(indexAfter(keys.psPrefix, entry), entry))
    .sort((a, b) => a.index - b.index);
