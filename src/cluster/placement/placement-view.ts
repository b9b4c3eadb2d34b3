/**
 * The placement as the store has it: which pserver is primary of which unit of shards, and its address. Trainers and
 * the master follow it; it is never computed from ids (DESIGN §3).
 */
import { type LedUnit, type PlacementStamp, stampOf } from '../../core/placement.ts';
import { type Grouping, shardsOfUnit } from '../../core/units/units.ts';
import { follow } from '../../store/follow.ts';
import { followKey } from '../../store/follow-key.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue } from '../../store/store.ts';
import type { ClusterContext } from '../context.ts';
import { createSignal, type Signal } from '../waiting.ts';
import { parseHead } from './heads.ts';
import { checkDesired } from './ps-desired.ts';

export interface PlacedPserver {
  readonly index: number;
  readonly address: string;
  readonly token: bigint;
  readonly stamp: PlacementStamp;
  /** That it leads. */
  readonly units: readonly LedUnit[];
}

/** A placement in which every unit has a live primary. */
export interface Placement {
  /** Changes with every change of the placement. */
  readonly version: number;
  /** Shard → position in `pservers`. */
  readonly primaryOf: Int32Array;
  /** Those that lead a unit, by ascending index. */
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
  /** Whether this very owner still has its index; true until the store has answered. */
  isLive(index: number, token: bigint): boolean;
  cancel(): void;
}

interface Mirror {
  readonly entries: Map<string, KeyValue>;
  loaded: boolean;
}

/** What a placement is of. */
export interface PlacedJob extends Grouping {
  /** That the job should have. */
  readonly pservers: number;
}

/** `onFatal` also gets `Resized`: the number of pservers is no longer the one that the caller started with. */
export function followPlacement(
  context: ClusterContext,
  job: PlacedJob,
  onFatal: (error: Error) => void,
): PlacementView {
  const { keys, store } = context;
  const changed = createSignal();
  const owners: Mirror = { entries: new Map(), loaded: false };
  const heads: Mirror = { entries: new Map(), loaded: false };
  let version = 0;
  let built: Built | undefined;

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
    version += 1;
    changed.notify();
  };
  const onDesired = (entry: KeyValue | undefined): void => {
    if (entry !== undefined) checkDesired(entry, job.pservers);
  };
  const cancels = [
    mirror(keys.psPrefix, owners),
    mirror(keys.headsPrefix, heads),
    followKey(store, keys.psDesired, { onValue: onDesired, onEnd: onFatal }, context.host.clock),
  ];
  const isLoaded = (): boolean => owners.loaded && heads.loaded;
  const view = (): Built => {
    if (!isLoaded()) return { placement: undefined, missing: 'the store' };
    built ??= build(context, job, owners.entries, heads.entries, version);
    return built;
  };
  return {
    changed,
    isLoaded,
    current: () => view().placement,
    version: () => version,
    missing: () => view().missing,
    liveIndexes: () => liveIndexes(keys, owners.entries),
    isLive: (index, token) => !owners.loaded || owners.entries.get(keys.ps(index))?.createRevision === token,
    cancel: () => {
      for (const cancel of cancels) cancel();
    },
  };
}

interface Built {
  readonly placement: Placement | undefined;
  readonly missing: string;
}

/** A unit with a live primary. */
interface PlacedUnit extends LedUnit {
  /** The primary's claim. */
  readonly owner: KeyValue;
}

function build(
  { keys }: ClusterContext,
  job: PlacedJob,
  owners: ReadonlyMap<string, KeyValue>,
  heads: ReadonlyMap<string, KeyValue>,
  version: number,
): Built {
  const placed: PlacedUnit[] = [];
  for (let unit = 0; unit < job.units; unit++) {
    const entry = heads.get(keys.head(unit));
    const head = entry && parseHead(entry.key, entry.value);
    const owner = head && owners.get(keys.ps(head.primary.index));
    if (head === undefined || owner?.createRevision.toString() !== head.primary.token) continue;
    placed.push({ unit, led: head.led, owner });
  }
  if (placed.length < job.units) {
    return { placement: undefined, missing: missingIn(job, liveIndexes(keys, owners), job.units - placed.length) };
  }
  const byOwner = [...Map.groupBy(placed, ({ owner }) => owner)].map(([owner, units]) => {
    return { index: indexIn(keys, owner.key), owner, units };
  });
  byOwner.sort((a, b) => a.index - b.index);
  const primaryOf = new Int32Array(job.shards);
  const pservers = byOwner.map(({ index, owner, units }, position): PlacedPserver => {
    const led = units.map(({ unit, led }) => ({ unit, led }));
    for (const { unit } of units) for (const shard of shardsOfUnit(unit, job)) primaryOf[shard] = position;
    return { index, address: owner.value, token: owner.createRevision, stamp: stampOf(led, job), units: led };
  });
  return { placement: { version, primaryOf, pservers }, missing: '' };
}

function missingIn(job: PlacedJob, live: readonly number[], orphans: number): string {
  const absent = Array.from({ length: job.pservers }, (_, index) => index).filter((index) => !live.includes(index));
  if (absent.length === 0) return `pservers to take ${orphans} of ${job.units} units of shards`;
  return `pserver ${absent.join(', ')} (${live.length} of ${job.pservers} are running)`;
}

const indexIn = (keys: Keys, key: string): number => Number(key.slice(keys.psPrefix.length));

/** Ascending. */
const liveIndexes = (keys: Keys, owners: ReadonlyMap<string, KeyValue>): number[] =>
  [...owners.keys()].map((key) => indexIn(keys, key)).sort((a, b) => a - b);
