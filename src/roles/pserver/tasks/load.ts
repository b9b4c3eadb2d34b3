/**
 * Async mode: fills the parameter memory with units that have no live primary. Units that never had an owner get their
 * initial values. The others get the last state of their former owner. If that owner saved it on its way out,
 * nothing is missing. Otherwise the newest usable checkpoint is loaded, or else the initial values: both are logged,
 * and the recovery number tells all roles that acknowledged pushes may be gone from these shards and must be repaired.
 */

import { type ExpectedJob, type LoadedCheckpoint, loadNewestUsable } from '../../../checkpoint/load/load.ts';
import type { WarmLoaded } from '../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import type { Generation } from '../../../checkpoint/registry/entry.ts';
import type { Owner, Rest } from '../../../cluster/placement/heads.ts';
import { shardsOfUnit } from '../../../core/units/units.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { type FormerState, type LastState, lastState } from '../files/last-state.ts';
import { type FileWait, forgottenFiles, type Look, untilFound, whyUnseen } from '../files/wait-for-files.ts';
import { warmUp } from '../files/warm-start.ts';
import { type FormerUnits, formerUnits, type OrphanHead } from '../take-units.ts';

export interface LoadShardsOptions extends FileWait {
  readonly me: Owner;
  readonly orphans: readonly OrphanHead[];
  /** Of the job. */
  readonly units: number;
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
  /** Of units of which nothing is missing, the file that has it all. */
  readonly rests: ReadonlyMap<number, Rest>;
  /** Where it came from, for the log. */
  readonly source: string;
  /** Names of the files that were loaded from this pserver's own folder. */
  readonly files: readonly string[];
  /** Of those, the parting snapshots of this index that no entry names yet. */
  readonly partings: readonly Generation[];
  /** When each former owner had parted, by its token: 0n for one that had not. */
  readonly partedAt: ReadonlyMap<string, bigint>;
}

export interface FilledShards extends LoadedShards {
  /** What was taken over from another job. */
  readonly warm: readonly WarmLoaded[];
}

export async function loadShards(options: LoadShardsOptions): Promise<FilledShards> {
  const { orphans, into, context, units, expected } = options;
  const shardsOf = (unit: number): number[] => shardsOfUnit(unit, { units, shards: expected.shards });
  const parts: LoadedShards[] = [];
  for (const former of formerUnits(orphans)) {
    parts.push(await loadFrom(options, former, former.units.flatMap(shardsOf)));
  }
  // A shard that its former owner took but never saved is lost as well.
  const initial: number[] = [];
  for (const { unit, head } of orphans) {
    const absent = shardsOf(unit).filter((shard) => !into.hasShard(shard));
    if (head !== undefined && absent.length > 0) {
      context.host.log.debug(`${absent.length} shards of unit ${unit} start from their initial values`);
    }
    for (const shard of absent) into.addShard(shard);
    initial.push(...absent);
  }
  return {
    warm: await warmUp(options, initial),
    ledgers: new Map(parts.flatMap(({ ledgers }) => [...ledgers])),
    seqs: new Map(parts.flatMap(({ seqs }) => [...seqs])),
    exact: parts.every(({ exact }) => exact),
    rests: new Map(parts.flatMap(({ rests }) => [...rests])),
    files: parts.flatMap(({ files }) => files),
    partings: parts.flatMap(({ partings }) => partings),
    partedAt: new Map(parts.flatMap(({ partedAt }) => [...partedAt])),
    source: parts.length === 0 ? 'initial values' : parts.map(({ source }) => source).join(', '),
  };
}

const NOTHING: Omit<LoadedShards, 'partedAt'> = {
  ledgers: new Map(),
  seqs: new Map(),
  exact: false,
  rests: new Map(),
  source: 'initial values, to be repaired',
  files: [],
  partings: [],
};

const restarted = (shards: readonly number[]): string =>
  `${shards.length} shards start from their initial values and are repaired`;

async function loadFrom(
  options: LoadShardsOptions,
  former: FormerUnits,
  shards: readonly number[],
): Promise<LoadedShards> {
  const { context, folder, expected, into } = options;
  const { log, disk } = context.host;
  const found = await untilFound(options, () => look(options, former));
  const { index, generations, exact, complaint, parting, isForgotten } = found;
  const partedAt = new Map([[former.primary.token, found.partedAt]]);
  if (complaint !== undefined) log.error(complaint);
  if (generations.length === 0 || isForgotten) {
    const why = isForgotten ? 'has lost its checkpoints, and was told to forget them' : 'died without a checkpoint';
    log.error(`pserver ${index} ${why}: ${restarted(shards)}`);
    return { ...NOTHING, partedAt };
  }
  const place = { folder, index };
  const outcome = await loadNewestUsable(generations, { disk, place, expected, into, shards });
  for (const { code, message } of outcome.complaints) log.error(`${code}: ${message}`);
  const { loaded, generation, age } = outcome;
  if (loaded === undefined || generation === undefined) {
    log.error(`no checkpoint of pserver ${index} is usable: ${restarted(shards)}`);
    return { ...NOTHING, partedAt };
  }
  const isExact = exact && age === 0;
  if (!isExact) {
    log.warn(
      `pserver ${index} applied more than checkpoint ${generation.uuid} may have: its later updates are repaired`,
      {
        timestamp: generation.timestamp,
        generation: age,
      },
    );
  }
  // A snapshot that no entry will name could not be found again.
  const isNamed = parting === undefined || index === options.me.index;
  const rest = isExact && isNamed ? { index, uuid: generation.uuid } : undefined;
  return {
    ...positionsOf(loaded),
    exact: isExact,
    rests: new Map(rest === undefined ? [] : former.units.map((unit) => [unit, rest])),
    source: generation.uuid,
    files: index === options.me.index ? [generation.uuid] : [],
    partings: parting?.uuid === generation.uuid && isNamed ? [parting] : [],
    partedAt,
  };
}

type Found = LastState & { readonly isForgotten: boolean };

/** The last state, once at least one of its files is seen, or all of them are given up. */
async function look(options: LoadShardsOptions, former: FormerState): Promise<Look<Found>> {
  const { context, folder } = options;
  // Read each time: an owner that keeps its memory may announce a parting snapshot still.
  const state = await lastState(context, former);
  const { index, generations } = state;
  if (generations.length === 0) return { answer: { ...state, isForgotten: false } };
  const uuids = generations.map(({ uuid }) => uuid);
  const missing = await whyUnseen(context.host.disk, { folder, index }, uuids);
  if (missing === undefined) return { answer: { ...state, isForgotten: false } };
  const forgotten = await forgottenFiles(options);
  return uuids.every((uuid) => forgotten.has(uuid)) ? { answer: { ...state, isForgotten: true } } : { missing };
}

function positionsOf({ ledgers, positions }: LoadedCheckpoint) {
  return { ledgers, seqs: new Map(positions.map(({ shard, seq }) => [shard, seq])) };
}
