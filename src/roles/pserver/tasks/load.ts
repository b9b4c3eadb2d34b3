/**
 * Async mode: fills the parameter memory of a pserver that just claimed its index. Shards that never had an owner get
 * their initial values. The others get the last state of their former owner. If that owner saved it on its way out,
 * nothing is missing. Otherwise the newest usable checkpoint is loaded, or else the initial values: both are logged,
 * and the recovery number tells all roles that acknowledged pushes may be gone from these shards and must be repaired.
 */

import { type ExpectedJob, type LoadedCheckpoint, loadNewestUsable } from '../../../checkpoint/load/load.ts';
import type { WarmLoaded } from '../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import { type Generation, generationsOf } from '../../../checkpoint/registry/entry.ts';
import { type Owner, sameOwner } from '../../../cluster/placement/heads.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { type LastState, lastState } from '../files/last-state.ts';
import { type FileWait, forgottenFiles, type Look, untilFound, whyUnseen } from '../files/wait-for-files.ts';
import { warmUp } from '../files/warm-start.ts';
import { formerOwners, type PlannedHead } from '../take-shards.ts';

export interface LoadShardsOptions extends FileWait {
  readonly me: Owner;
  readonly heads: readonly PlannedHead[];
  readonly expected: ExpectedJob;
  readonly into: Parameters;
  /** What shards without a state take over from another job. */
  readonly warmStart: WarmPlan | undefined;
}

export interface LoadedShards {
  /** Encoded ledgers by shard; shards at their initial values have none. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** Updates applied so far, by shard; 0 for shards at their initial values. */
  readonly seqs: ReadonlyMap<number, number>;
  /** False when updates that were acknowledged may be missing. */
  readonly exact: boolean;
  /** True when a file was loaded that is marked as the last state. */
  readonly fromClean: boolean;
  /** Where it came from, for the log. */
  readonly source: string;
  /** Names of the files that were loaded. */
  readonly files: readonly string[];
  /** Of those, the parting snapshots of this index that no entry names yet. */
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
  // A shard that its former owner took but never saved is lost as well.
  const initial: number[] = [];
  for (const { shard, head } of heads) {
    if (into.hasShard(shard)) continue;
    if (head !== undefined) context.host.log.debug(`shard ${shard} starts from its initial values`);
    into.addShard(shard);
    initial.push(shard);
  }
  return {
    warm: await warmUp(options, initial),
    ledgers: new Map(parts.flatMap(({ ledgers }) => [...ledgers])),
    seqs: new Map(parts.flatMap(({ seqs }) => [...seqs])),
    exact: parts.every(({ exact }) => exact),
    fromClean: parts.some(({ fromClean }) => fromClean),
    files: parts.flatMap(({ files }) => files),
    partings: parts.flatMap(({ partings }) => partings),
    source: parts.length === 0 ? 'initial values' : parts.map(({ source }) => source).join(', '),
  };
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

const restarted = (shards: readonly number[]): string =>
  `${shards.length} shards start from their initial values and are repaired`;

async function loadFrom(options: LoadShardsOptions, owner: Owner, shards: readonly number[]): Promise<LoadedShards> {
  const { context, folder, expected, into } = options;
  const { log, disk } = context.host;
  const { entry, exact, complaint, parting, isForgotten } = await untilFound(options, () => look(options, owner));
  if (complaint !== undefined) log.error(complaint);
  if (entry === undefined || isForgotten) {
    const why = isForgotten ? 'has lost its checkpoints, and was told to forget them' : 'died without a checkpoint';
    log.error(`pserver ${owner.index} ${why}: ${restarted(shards)}`);
    return NOTHING;
  }
  const place = { folder, index: owner.index };
  const outcome = await loadNewestUsable(entry, { disk, place, expected, into, shards });
  for (const { code, message } of outcome.complaints) log.error(`${code}: ${message}`);
  const { loaded, generation, age } = outcome;
  if (loaded === undefined || generation === undefined) {
    log.error(`no checkpoint of pserver ${owner.index} is usable: ${restarted(shards)}`);
    return NOTHING;
  }
  const isExact = exact && age === 0;
  if (!isExact) {
    log.warn(
      `pserver ${owner.index} applied more than checkpoint ${generation.uuid} may have: its later updates are repaired`,
      {
        timestamp: generation.timestamp,
        generation: age,
      },
    );
  }
  return {
    ...positionsOf(loaded),
    exact: isExact,
    fromClean: isExact,
    source: generation.uuid,
    files: [generation.uuid],
    partings: parting?.uuid === generation.uuid && owner.index === options.me.index ? [parting] : [],
  };
}

type Found = LastState & { readonly isForgotten: boolean };

/** The last state, once at least one of its files is seen, or all of them are given up. */
async function look(options: LoadShardsOptions, owner: Owner): Promise<Look<Found>> {
  const { context, folder } = options;
  // Read each time: an owner that keeps its memory may announce a parting snapshot still.
  const state = await lastState(context, owner);
  if (state.entry === undefined) return { answer: { ...state, isForgotten: false } };
  const uuids = generationsOf(state.entry).map(({ uuid }) => uuid);
  const missing = await whyUnseen(context.host.disk, { folder, index: owner.index }, uuids);
  if (missing === undefined) return { answer: { ...state, isForgotten: false } };
  const forgotten = await forgottenFiles(options);
  return uuids.every((uuid) => forgotten.has(uuid)) ? { answer: { ...state, isForgotten: true } } : { missing };
}

function positionsOf({ ledgers, positions }: LoadedCheckpoint) {
  return { ledgers, seqs: new Map(positions.map(({ shard, seq }) => [shard, seq])) };
}
