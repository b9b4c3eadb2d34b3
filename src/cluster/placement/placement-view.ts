/**
 * The placement as the store has it: which pserver is primary of which shard, and its address. Trainers and the master
 * follow it; it is never computed from ids (DESIGN §3).
 */
import { type PlacementStamp, stampOf } from '../../core/placement.ts';
import { follow } from '../../store/follow.ts';
import { followKey } from '../../store/follow-key.ts';
import type { KeyValue } from '../../store/store.ts';
import type { ClusterContext } from '../context.ts';
import { createSignal, type Signal } from '../waiting.ts';
import { type Head, parseHead } from './heads.ts';
import { checkDesired } from './ps-desired.ts';

export interface PlacedPserver {
  readonly index: number;
  readonly address: string;
  readonly token: bigint;
  readonly stamp: PlacementStamp;
}

/** A placement in which every shard has a live primary. */
export interface Placement {
  /** Changes with every change of the placement. */
  readonly version: number;
  /** Shard → position in `pservers`. */
  readonly primaryOf: Int32Array;
  readonly pservers: readonly PlacedPserver[];
}

export interface PlacementView {
  readonly changed: Signal;
  /** Whether all pservers and heads have been read once. */
  isLoaded(): boolean;
  /** The present placement, or undefined while a shard lacks a live primary. */
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

/** `onFatal` also gets `Resized`: the number of pservers is no longer the one that the caller started with. */
export function followPlacement(
  context: ClusterContext,
  job: { shards: number; pservers: number },
  onFatal: (error: Error) => void,
): PlacementView {
  const { keys, store } = context;
  const changed = createSignal();
  const owners: Mirror = { entries: new Map(), loaded: false };
  const heads: Mirror = { entries: new Map(), loaded: false };
  let version = 0;
  let built: { placement: Placement | undefined; missing: string } | undefined;

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
  const view = (): { placement: Placement | undefined; missing: string } => {
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
    liveIndexes: () => liveIndexes(context, job.pservers, owners.entries),
    isLive: (index, token) => !owners.loaded || owners.entries.get(keys.ps(index))?.createRevision === token,
    cancel: () => {
      for (const cancel of cancels) cancel();
    },
  };
}

function liveIndexes(context: ClusterContext, pservers: number, owners: ReadonlyMap<string, KeyValue>): number[] {
  const live: number[] = [];
  for (let index = 0; index < pservers; index++) if (owners.has(context.keys.ps(index))) live.push(index);
  return live;
}

function build(
  context: ClusterContext,
  job: { shards: number; pservers: number },
  owners: ReadonlyMap<string, KeyValue>,
  heads: ReadonlyMap<string, KeyValue>,
  version: number,
): { placement: Placement | undefined; missing: string } {
  const live = liveIndexes(context, job.pservers, owners);
  if (live.length < job.pservers) {
    const absent = Array.from({ length: job.pservers }, (_, index) => index).filter((index) => !live.includes(index));
    return {
      placement: undefined,
      missing: `pserver ${absent.join(', ')} (${live.length} of ${job.pservers} are running)`,
    };
  }
  const positions = new Map<string, number>();
  const revisions: bigint[][] = [];
  const placed = live.map((index, position) => {
    const owner = owners.get(context.keys.ps(index))!;
    positions.set(`${index}/${owner.createRevision}`, position);
    revisions.push([]);
    return { index, address: owner.value, token: owner.createRevision };
  });
  const primaryOf = new Int32Array(job.shards).fill(-1);
  let orphans = 0;
  for (let shard = 0; shard < job.shards; shard++) {
    const entry = heads.get(context.keys.head(shard));
    const head: Head | undefined = entry === undefined ? undefined : parseHead(entry.key, entry.value);
    const position = head && positions.get(`${head.primary.index}/${head.primary.token}`);
    if (entry === undefined || position === undefined) {
      orphans += 1;
      continue;
    }
    primaryOf[shard] = position;
    revisions[position]!.push(entry.modRevision);
  }
  if (orphans > 0) return { placement: undefined, missing: `pservers to take ${orphans} of ${job.shards} shards` };
  const pservers = placed.map((pserver, position) => ({ ...pserver, stamp: stampOf(revisions[position]!) }));
  return { placement: { version, primaryOf, pservers }, missing: '' };
}
