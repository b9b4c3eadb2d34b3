/** Async mode: loads the last state of units from the files of their former owner. */
import { type ExpectedJob, type LoadedPart, type LoadedParts, loadEachNewest } from '../../../checkpoint/load/load.ts';
import type { Generation } from '../../../checkpoint/registry/entry.ts';
import type { Owner, Rest } from '../../../cluster/placement/heads.ts';
import { shardsOfUnits, unitOf } from '../../../core/units/units.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { type FormerState, type LastState, lastState } from '../files/last-state.ts';
import { type FileWait, forgottenFiles, type Look, untilFound, whyUnseen } from '../files/wait-for-files.ts';
import type { FormerUnits } from '../take-units.ts';

export interface LoadFormerOptions extends FileWait {
  readonly me: Owner;
  /** Of the job. */
  readonly units: number;
  readonly expected: ExpectedJob;
  readonly into: Parameters;
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

/** The parting snapshot of their primary may have some of the units only. */
export async function loadFormer(options: LoadFormerOptions, former: FormerUnits): Promise<LoadedShards[]> {
  const grouping = { units: options.units, shards: options.expected.shards };
  const parts: LoadedShards[] = [];
  let left = shardsOfUnits(former.units, grouping);
  while (left.length > 0) {
    const { of, loaded } = await loadFrom(options, former, left);
    parts.push(loaded);
    left = left.filter((shard) => !of.includes(shard));
  }
  return parts;
}

interface LoadedFrom {
  /** The shards that were looked for there. */
  readonly of: readonly number[];
  readonly loaded: LoadedShards;
}

async function loadFrom(
  options: LoadFormerOptions,
  former: FormerUnits,
  shards: readonly number[],
): Promise<LoadedFrom> {
  const { context, folder, expected, into } = options;
  const { log, disk } = context.host;
  const found = await untilFound(options, () => look(options, former, shards));
  const { shards: of, index, generations, complaint, isForgotten } = found;
  if (complaint !== undefined) log.error(complaint);
  const usable = isForgotten ? [] : generations;
  const place = { folder, index };
  const outcome = await loadEachNewest(usable, { disk, place, expected, into, shards: of });
  for (const { code, message } of outcome.complaints) log.error(`${code}: ${message}`);
  const { parts, lost } = outcome;
  if (lost.length > 0) {
    log.error(`${whyLost(found)}: ${lost.length} shards start from their initial values and are repaired`);
  }
  for (const { generation, age } of parts.filter((part) => !isExact(found, part))) {
    const text = `pserver ${index} applied more than checkpoint ${generation.uuid} may have`;
    const { timestamp } = generation;
    log.warn(`${text}: its later updates are repaired`, { timestamp, generation: age });
  }
  return { of, loaded: { ...describe(options, former, found, parts), exact: isAllExact(found, outcome) } };
}

function describe(
  { me, units }: LoadFormerOptions,
  former: FormerUnits,
  found: Found,
  parts: readonly LoadedPart[],
): Omit<LoadedShards, 'exact'> {
  const { index, parting } = found;
  // A snapshot that no entry will name could not be found again.
  const isNamed = parting === undefined || index === me.index;
  const uuids = parts.map(({ generation }) => generation.uuid);
  return {
    ledgers: new Map(parts.flatMap(({ loaded }) => [...loaded.ledgers])),
    seqs: new Map(parts.flatMap(({ loaded }) => loaded.positions.map(({ shard, seq }) => [shard, seq]))),
    rests: new Map(isNamed ? restsOf(found, parts, units) : []),
    source: uuids.length === 0 ? 'initial values, to be repaired' : uuids.join(' and '),
    files: index === me.index ? uuids : [],
    partings: parting !== undefined && isNamed && uuids.includes(parting.uuid) ? [parting] : [],
    partedAt: new Map([[former.primary.token, found.partedAt]]),
  };
}

const isExact = ({ exact }: Found, { age }: LoadedPart): boolean => exact && age === 0;

const isAllExact = (found: Found, { parts, lost }: LoadedParts): boolean =>
  lost.length === 0 && parts.every((part) => isExact(found, part));

/** A unit is in a file as a whole. */
const restsOf = (found: Found, parts: readonly LoadedPart[], units: number): [number, Rest][] =>
  parts
    .filter((part) => isExact(found, part))
    .flatMap(({ loaded, generation: { uuid } }) =>
      loaded.positions.map(({ shard }): [number, Rest] => [unitOf(shard, units), { index: found.index, uuid }]),
    );

function whyLost({ index, generations, isForgotten }: Found): string {
  if (isForgotten) return `pserver ${index} has lost its checkpoints, and was told to forget them`;
  if (generations.length === 0) return `pserver ${index} died without a checkpoint`;
  return `no checkpoint of pserver ${index} is usable for some of its shards`;
}

type Found = LastState & { readonly isForgotten: boolean };

/** The last state, once at least one of its files is seen, or all of them are given up. */
async function look(options: LoadFormerOptions, former: FormerState, shards: readonly number[]): Promise<Look<Found>> {
  const { context, folder } = options;
  // Read each time: an owner that keeps its memory may announce a parting snapshot still.
  const state = await lastState(context, former, shards);
  const { index, generations } = state;
  if (generations.length === 0) return { answer: { ...state, isForgotten: false } };
  const uuids = generations.map(({ uuid }) => uuid);
  const missing = await whyUnseen(context.host.disk, { folder, index }, uuids);
  if (missing === undefined) return { answer: { ...state, isForgotten: false } };
  const forgotten = await forgottenFiles(options);
  return uuids.every((uuid) => forgotten.has(uuid)) ? { answer: { ...state, isForgotten: true } } : { missing };
}
