/**
 * Sync mode: fills shards that have no state. All units of all pservers must be at neighboring rounds, so a unit can
 * start from only two states (docs/modes.md, "Cuts"):
 * - the exact last state that its former owner left (load-last.ts);
 * - the last complete cut, to which all pservers go back under a new timeline (load-cut.ts).
 *
 * Round 0 needs no file, because it is the initial values.
 */
import { corrupt } from '../../../../checkpoint/file/files.ts';
import type { RoundsMeta } from '../../../../checkpoint/file/format.ts';
import { checkpointPath } from '../../../../checkpoint/file/paths.ts';
import { type ExpectedJob, loadGeneration } from '../../../../checkpoint/load/load.ts';
import type { WarmPlan } from '../../../../checkpoint/load/warm-plan.ts';
import { type Generation, nameOf } from '../../../../checkpoint/registry/entry.ts';
import type { Rest } from '../../../../cluster/placement/heads.ts';
import { unitOf } from '../../../../core/units/units.ts';
import type { ParameterMemory } from '../../../../tensor/parameters.ts';
import type { FileWait } from '../../files/wait-for-files.ts';
import { warmUp } from '../../files/warm-start.ts';
import { joinPositions, loadedPositions, NO_POSITIONS, type ShardPositions } from '../../held/positions.ts';

export interface LoadRoundsOptions extends FileWait {
  readonly expected: ExpectedJob;
  /** Number of units of the job. */
  readonly units: number;
  /** Plan for copying values of another job into shards at their initial values; undefined without a warm start. */
  readonly warmStart: WarmPlan | undefined;
  /** Longest wait for processes that may still be writing their copies to a parting snapshot. */
  readonly partingLimitMs: number;
  /** Contains none of the shards to load; after an error it may contain some of them. */
  readonly into: ParameterMemory;
}

/** Loaded units, with all their shards present. */
export interface LoadedUnits extends ShardPositions {
  /** Round and metrics of each unit. */
  readonly rounds: ReadonlyMap<number, RoundsMeta>;
  /** For each unit in its exact last state: the file that contains all of that state. */
  readonly rests: ReadonlyMap<number, Rest>;
  /**
   * Store revision at which each former owner announced its parting snapshot, by the owner's token; 0n if it announced
   * none.
   */
  readonly partedAt: ReadonlyMap<string, bigint>;
  /** Source of the units, for the log. */
  readonly source: string;
  /** Names of the files that were loaded from this pserver's own folder. */
  readonly files: readonly string[];
}

export const NO_UNITS: LoadedUnits = {
  ...NO_POSITIONS,
  rounds: new Map(),
  rests: new Map(),
  partedAt: new Map(),
  source: 'initial values',
  files: [],
};

/** Joins the results for different units. */
export function joined(parts: readonly LoadedUnits[]): LoadedUnits {
  if (parts.length === 0) return NO_UNITS;
  return {
    ...joinPositions(parts),
    rounds: new Map(parts.flatMap(({ rounds }) => [...rounds])),
    rests: new Map(parts.flatMap(({ rests }) => [...rests])),
    partedAt: new Map(parts.flatMap(({ partedAt }) => [...partedAt])),
    source: parts.map(({ source }) => source).join(', '),
    files: parts.flatMap(({ files }) => files),
  };
}

/**
 * Loads whole units from one file, which must contain them at that round, and from the files before it that it builds
 * on. Throws `CheckpointMissing`, `CheckpointCorrupt`.
 */
export async function loadFile(
  options: LoadRoundsOptions,
  index: number,
  [generation, ...earlier]: readonly [Generation, ...Generation[]],
  { round, shards }: { readonly round: number; readonly shards: readonly number[] },
): Promise<LoadedUnits> {
  const { context, folder, expected, into, units } = options;
  const place = { folder, index };
  const reading = { storage: context.host.storage, place, expected, into, shards };
  const loaded = await loadGeneration(generation, reading, earlier);
  const path = checkpointPath(place, generation.uuid);
  const { rounds } = loaded.facts;
  const elsewhere = loaded.positions.find(({ seq }) => seq !== round);
  if (rounds?.round !== round) throw corrupt(path, `the file is of round ${rounds?.round}, not ${round}`);
  if (elsewhere !== undefined)
    throw corrupt(path, `shard ${elsewhere.shard} is at round ${elsewhere.seq}, not ${round}`);
  return {
    rounds: new Map(shards.map((shard) => [unitOf(shard, units), rounds])),
    ...loadedPositions(loaded),
    rests: NO_UNITS.rests,
    partedAt: NO_UNITS.partedAt,
    source: `${nameOf(generation)}, round ${round}`,
    files: index === options.index ? [generation.uuid] : [],
  };
}

/** Version 0: the initial values, or the values that a warm start copies from another job. */
export async function loadInitial(options: LoadRoundsOptions, shards: readonly number[]): Promise<LoadedUnits> {
  for (const shard of shards) options.into.addShard(shard);
  await warmUp(options, shards);
  const atStart: RoundsMeta = { round: 0, metrics: [] };
  return { ...NO_UNITS, rounds: new Map(shards.map((shard) => [unitOf(shard, options.units), atStart])) };
}
