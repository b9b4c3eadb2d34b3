/**
 * Fills the parameter memory of a pserver that just claimed its index: initial values for shards nobody ever held; the
 * former owner's last state for the others. When it wrote that down in leaving, nothing is missing. Otherwise it is the
 * newest checkpoint that is whole, or else the initial values, each said loudly, and the recovery number tells everybody
 * that acknowledged pushes may be gone from these shards and must be repaired.
 */

import { type ExpectedJob, type LoadedCheckpoint, loadNewestUsable } from '../../../checkpoint/load/load.ts';
import { loadWarmStart, type WarmLoaded } from '../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import {
  type CheckpointEntry,
  type Generation,
  generationSchema,
  isClean,
  parseEntry,
} from '../../../checkpoint/registry/entry.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { type Owner, sameOwner } from '../../../cluster/placement/heads.ts';
import { parseStoreValue } from '../../../core/tasks/state.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { formerOwners, type PlannedHead } from '../own-shards.ts';

export interface LoadShardsOptions {
  readonly context: RoleContext;
  readonly me: Owner;
  readonly heads: readonly PlannedHead[];
  readonly folder: string;
  readonly expected: ExpectedJob;
  readonly into: Parameters;
  /** What shards without a state begin with, beside their initial values. */
  readonly warmStart: WarmPlan | undefined;
}

export interface LoadedShards {
  /** Encoded ledgers by shard; shards at their initial values have none. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** Updates applied so far, by shard. */
  readonly seqs: ReadonlyMap<number, number>;
  /** False when updates that were acknowledged may be missing. */
  readonly exact: boolean;
  /** True when a published file was loaded that is marked as the last state. */
  readonly fromClean: boolean;
  /** Where it came from, for people. */
  readonly source: string;
  /** Names of the files that were loaded. */
  readonly files: readonly string[];
  /** Of those, the snapshots of this index that no entry names yet. */
  readonly partings: readonly Generation[];
}

export interface FilledShards extends LoadedShards {
  /** What was taken over from another job. */
  readonly warm: readonly WarmLoaded[];
}

export async function loadShards(options: LoadShardsOptions): Promise<FilledShards> {
  const { heads, me, into, context } = options;
  const owners = formerOwners(heads, me);
  const parts: LoadedShards[] = [];
  for (const owner of owners) {
    const shards = heads
      .filter(({ head }) => head !== undefined && sameOwner(head.primary, owner))
      .map(({ shard }) => shard);
    parts.push(await loadFrom(options, owner, shards));
  }
  // What a former owner took and never wrote down is as lost as what it died with.
  const anew: number[] = [];
  for (const { shard, head } of heads) {
    if (into.hasShard(shard)) continue;
    if (head !== undefined) context.host.log.debug(`shard ${shard} begins at its initial values`);
    into.addShard(shard);
    anew.push(shard);
  }
  return {
    warm: await warmUp(options, anew),
    ledgers: new Map(parts.flatMap(({ ledgers }) => [...ledgers])),
    seqs: new Map(parts.flatMap(({ seqs }) => [...seqs])),
    exact: parts.every(({ exact }) => exact),
    fromClean: parts.some(({ fromClean }) => fromClean),
    files: parts.flatMap(({ files }) => files),
    partings: parts.flatMap(({ partings }) => partings),
    source: parts.length === 0 ? 'initial values' : parts.map(({ source }) => source).join(', '),
  };
}

type WarmUpOptions = Pick<LoadShardsOptions, 'context' | 'expected' | 'into' | 'warmStart'>;

/** Initial values of a job with a warm start are those it took over, also when a shard begins anew later. */
export async function warmUp({ context, expected, into, warmStart }: WarmUpOptions, shards: readonly number[]) {
  if (warmStart === undefined || shards.length === 0) return [];
  const { disk, log, clock } = context.host;
  const { parameters: spec, optimizer, shards: shardCount } = expected;
  const startedMs = clock.monotonicMs();
  const loaded = await loadWarmStart({ disk, plan: warmStart, spec, optimizer, shardCount, shards, into });
  for (const { name, rows, bytes } of loaded) {
    log.info(`warm start: ${name}`, { rows, bytes, job: warmStart.job, from: warmStart.from });
  }
  const tookMs = Math.round(clock.monotonicMs() - startedMs);
  log.info(`warm start: ${shards.length} shards are filled`, { tookMs });
  return loaded;
}

const NOTHING: LoadedShards = {
  ledgers: new Map(),
  seqs: new Map(),
  exact: false,
  fromClean: false,
  source: 'initial values, to be repaired',
  files: [],
  partings: [],
};

async function loadFrom(options: LoadShardsOptions, owner: Owner, shards: readonly number[]): Promise<LoadedShards> {
  const { context, folder, expected, into } = options;
  const { log, disk } = context.host;
  const { entry, exact, complaint, parting } = await lastState(context, owner);
  if (complaint !== undefined) log.error(complaint);
  if (entry === undefined) {
    log.error(`pserver ${owner.index} died without a checkpoint: ${shards.length} shards begin anew and are repaired`);
    return NOTHING;
  }
  const place = { folder, index: owner.index };
  const outcome = await loadNewestUsable(entry, { disk, place, expected, into, shards });
  for (const { code, message } of outcome.complaints) log.error(`${code}: ${message}`);
  const { loaded, generation, age } = outcome;
  if (loaded === undefined || generation === undefined) {
    log.error(`no checkpoint of pserver ${owner.index} is usable: ${shards.length} shards begin anew and are repaired`);
    return NOTHING;
  }
  const isExact = exact && age === 0;
  if (!isExact) {
    log.warn(`pserver ${owner.index} died after checkpoint ${generation.uuid}: what it applied since is repaired`, {
      timestamp: generation.timestamp,
      generation: age,
    });
  }
  return {
    ...takenFrom(loaded),
    exact: isExact,
    fromClean: isExact,
    source: generation.uuid,
    files: [generation.uuid],
    partings: parting?.uuid === generation.uuid && owner.index === options.me.index ? [parting] : [],
  };
}

function takenFrom({ ledgers, positions }: LoadedCheckpoint) {
  return { ledgers, seqs: new Map(positions.map(({ shard, seq }) => [shard, seq])) };
}

export interface LastState {
  readonly entry: CheckpointEntry | undefined;
  /** The newest file has all that the owner ever applied. */
  readonly exact: boolean;
  readonly complaint: string | undefined;
  /** The snapshot, when that is what it wrote last. */
  readonly parting: Generation | undefined;
}

/** What the owner wrote last. A snapshot it announced in parting, after it had lost its index, has everything. */
export async function lastState(context: RoleContext, owner: Owner): Promise<LastState> {
  const { keys, store } = context;
  const partingKey = keys.parting(BigInt(owner.token));
  const key = keys.checkpoint(owner.index);
  const [parting, published] = await retryStore(context, () => Promise.all([store.get(partingKey), store.get(key)]));
  const { entry, complaint } = parseEntry(key, published);
  if (parting === undefined) {
    return { entry, complaint, exact: entry !== undefined && isClean(entry), parting };
  }
  const snapshot: Generation = parseStoreValue(generationSchema, partingKey, parting.value);
  const before = entry === undefined ? [] : [entry, ...(entry.generations ?? [])];
  const generations = before.map((one) => generationSchema.parse(one));
  return { entry: { ...snapshot, generations }, complaint, exact: true, parting: snapshot };
}
