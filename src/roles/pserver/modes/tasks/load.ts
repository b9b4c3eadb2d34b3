/**
 * Async mode: fills the parameter memory with units that have no live primary. A unit that never had an owner gets its
 * initial values. For any other unit, the pserver loads the exact last state of the former owner, otherwise the newest
 * usable checkpoint, otherwise the initial values.
 *
 * Known weakness: without the exact last state, acknowledged pushes may be missing. The pserver logs the loss and
 * raises the recovery number, so that all roles repair the shards.
 */
import type { PaddletError } from '../../../../base/errors.ts';
import { checkpointPath } from '../../../../checkpoint/file/paths.ts';
import { type ExpectedJob, type LoadedPart, loadFirst } from '../../../../checkpoint/load/load.ts';
import type { WarmLoaded } from '../../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../../checkpoint/load/warm-plan.ts';
import { type Generation, nameOf } from '../../../../checkpoint/registry/entry.ts';
import type { PublishedFile } from '../../../../checkpoint/registry/newest.ts';
import type { Owner, Rest } from '../../../../cluster/placement/heads.ts';
import { shardsOfUnit, shardsOfUnits, unitOf } from '../../../../core/units/units.ts';
import type { ParameterMemory } from '../../../../tensor/parameters.ts';
import type { FormerState } from '../../files/last-state.ts';
import { findNewestFiles, type NewestFiles } from '../../files/newest-files.ts';
import { type FileWait, isAwayForNow, type Look, lookForFiles, untilFound } from '../../files/wait-for-files.ts';
import { waitForParting } from '../../files/wait-for-parting.ts';
import { warmUp } from '../../files/warm-start.ts';
import { joinPositions, loadedPositions, type ShardPositions } from '../../held/positions.ts';
import { type FormerUnits, formerUnits, type OrphanHead } from '../../take/take-units.ts';

export interface LoadShardsOptions extends LoadFormerOptions {
  readonly orphans: readonly OrphanHead[];
  /** Plan for copying values of another job into shards without a saved state; undefined without a warm start. */
  readonly warmStart: WarmPlan | undefined;
}

export interface FilledShards extends LoadedShards {
  /** Values that the warm start copied from another job. */
  readonly warm: readonly WarmLoaded[];
}

export async function loadShards(options: LoadShardsOptions): Promise<FilledShards> {
  const { orphans, into, context, units, expected } = options;
  const shardsOf = (unit: number): number[] => shardsOfUnit(unit, { units, shards: expected.shards });
  const parts: LoadedShards[] = [];
  for (const former of formerUnits(orphans)) {
    parts.push(...(await loadFormer(options, former)));
  }
  // Shards without a usable file also start from their initial values, even if a former owner led them but never saved
  // them.
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
    ...joinPositions(parts),
    exact: parts.every(({ exact }) => exact),
    rests: new Map(parts.flatMap(({ rests }) => [...rests])),
    files: parts.flatMap(({ files }) => files),
    partings: parts.flatMap(({ partings }) => partings),
    partedAt: new Map(parts.flatMap(({ partedAt }) => [...partedAt])),
    source: parts.length === 0 ? 'initial values' : parts.map(({ source }) => source).join(', '),
  };
}

// ---- units that had an owner: load their last state from the files of any pserver

export interface LoadFormerOptions extends FileWait {
  readonly me: Owner;
  /** Number of units of the job. */
  readonly units: number;
  readonly expected: ExpectedJob;
  readonly into: ParameterMemory;
  /** Longest wait for processes that may still be writing their copies to a parting snapshot. */
  readonly partingLimitMs: number;
}

export interface LoadedShards extends ShardPositions {
  /** False if acknowledged updates may be missing. */
  readonly exact: boolean;
  /** For each unit in its exact last state: the file that contains all of that state. */
  readonly rests: ReadonlyMap<number, Rest>;
  /** Source of the state, for the log. */
  readonly source: string;
  /** Names of the files that were loaded from this pserver's own folder. */
  readonly files: readonly string[];
  /** Parting snapshots in `files` that no checkpoint entry names yet. */
  readonly partings: readonly Generation[];
  readonly partedAt: NewestFiles['partedAt'];
}

/**
 * Loads each shard from its first usable file. If that file is damaged or has vanished, the next candidate may be in
 * another folder, so the pserver looks again.
 */
export async function loadFormer(options: LoadFormerOptions, former: FormerUnits): Promise<LoadedShards[]> {
  const { context, folder, expected, into, units } = options;
  const { log, storage } = context.host;
  const unusable = new Set<string>();
  const loaded: LoadedShards[] = [];
  let left: readonly number[] = shardsOfUnits(former.units, { units, shards: expected.shards });
  let partedAt: LoadedShards['partedAt'] | undefined;
  await waitForParting({ ...options, limitMs: options.partingLimitMs }, former, left);
  while (left.length > 0) {
    const found = await untilFound(options, () => look(options, former, left, unusable));
    // Keep the first answer: if a snapshot is announced later, its state was not searched, and taking the units must
    // fail.
    partedAt ??= found.partedAt;
    for (const complaint of found.complaints) log.error(complaint);
    const outcome = await loadFirst(found.filesOf, { storage, folder, expected, into });
    for (const [file, error] of outcome.unusable) {
      log.error(`${error.code}: ${error.message}`);
      if (!(await isAway(options, found, file, error))) unusable.add(file.generation.uuid);
    }
    const lost = outcome.left.filter((shard) => found.filesOf.get(shard)?.length === 0);
    logLoss(options, former, found, { parts: outcome.parts, lost, hadFiles: unusable.size > 0 });
    const exact = lost.length === 0 && outcome.parts.every((part) => isExact(found, part));
    loaded.push({ ...describe(options, found, outcome.parts), exact, partedAt });
    const done = new Set([...lost, ...outcome.parts.flatMap(({ loaded: { positions } }) => positions.map(shardOf))]);
    left = left.filter((shard) => !done.has(shard));
  }
  return loaded;
}

async function isAway(
  { context, folder }: LoadFormerOptions,
  { namesOf }: Found,
  { index, generation: { uuid } }: PublishedFile,
  error: PaddletError,
): Promise<boolean> {
  if (error.code !== 'CheckpointMissing') return false;
  // The file is there, and one that it builds on is not.
  const { path } = error.details;
  if (path !== undefined && path !== checkpointPath({ folder, index }, uuid)) return false;
  const others = (namesOf.get(index) ?? []).filter((name) => name !== uuid);
  return isAwayForNow(context.host.storage, { folder, index }, [uuid, ...others]);
}

const shardOf = ({ shard }: { readonly shard: number }): number => shard;

const isExact = ({ exact }: Pick<Found, 'exact'>, { file }: LoadedPart): boolean => file === exact;

interface Outcome {
  readonly parts: readonly LoadedPart[];
  readonly lost: readonly number[];
  /** Whether any file was unusable. */
  readonly hadFiles: boolean;
}

function logLoss(
  { context }: LoadFormerOptions,
  { primary: { index } }: FormerState,
  found: Found,
  { parts, lost, hadFiles }: Outcome,
): void {
  const { log } = context.host;
  if (lost.length > 0) {
    const why = whyLost(index, found, hadFiles);
    log.error(`${why}: ${lost.length} shards start from their initial values and are repaired`);
  }
  for (const { file } of parts.filter((part) => !isExact(found, part))) {
    const { uuid, timestamp } = file.generation;
    const text = `pserver ${index} applied more than checkpoint ${uuid} may have`;
    log.warn(`${text}: its later updates are repaired`, { timestamp, of: file.index });
  }
}

function whyLost(index: number, { forgotten }: Found, hadFiles: boolean): string {
  if (forgotten.size > 0) {
    return `the checkpoints of pserver ${[...forgotten].join(', ')} are lost, and checkpoint forget allowed this pserver to continue without them`;
  }
  if (hadFiles) return `pserver ${index} does not have a usable checkpoint for some of its shards`;
  return `pserver ${index} died without a checkpoint`;
}

function describe(
  { me, units }: LoadFormerOptions,
  { exact, isParting }: Found,
  parts: readonly LoadedPart[],
): Omit<LoadedShards, 'exact' | 'partedAt'> {
  // No entry will name a parting snapshot of another index, so it could not be found again.
  const isNamed = !isParting || exact?.index === me.index;
  const names = parts.map(({ file: { generation } }) => nameOf(generation));
  const own = parts.flatMap(({ file: { index, generation } }) => (index === me.index ? [generation] : []));
  return {
    ...joinPositions(parts.map(({ loaded }) => loadedPositions(loaded))),
    rests: new Map(isNamed ? parts.filter((part) => isExact({ exact }, part)).flatMap(restsOf(units)) : []),
    source: names.length === 0 ? 'initial values, to be repaired' : names.join(' and '),
    files: own.map(({ uuid }) => uuid),
    partings: isParting ? own.filter((generation) => generation === exact?.generation) : [],
  };
}

/** A file contains whole units, so all shards of a unit give the same entry. */
const restsOf =
  (units: number) =>
  ({ loaded, file: { index, generation } }: LoadedPart): [number, Rest][] =>
    loaded.positions.map(({ shard }) => [unitOf(shard, units), { index, uuid: generation.uuid }]);

interface Found extends NewestFiles {
  /** Indexes of pservers whose missing files an operator gave up (`paddlet checkpoint forget`). */
  readonly forgotten: ReadonlySet<number>;
}

/**
 * Looks once for the files. The look has an answer if, for each shard, the pserver with the best file has a visible
 * file. Files that were given up do not count, so the next file becomes the best. A missing parting snapshot may have
 * an equal at another pserver, so the function looks for that as well.
 */
async function look(
  options: LoadFormerOptions,
  former: FormerState,
  shards: readonly number[],
  unusable: ReadonlySet<string>,
): Promise<Look<Found>> {
  let notSeen: Look<Found> | undefined;
  for (const away = new Set(unusable); ; ) {
    // Read the store on each look: an owner that still has its memory may announce a parting snapshot.
    const found = await findNewestFiles(options.context, former, shards, away);
    if (notSeen !== undefined && !found.isParting) return notSeen;
    const looked = await lookAt(options, found, unusable);
    if (!('missing' in looked) || !found.isParting) return looked;
    notSeen ??= looked;
    away.add(found.exact!.generation.uuid);
  }
}

async function lookAt(
  options: LoadFormerOptions,
  found: NewestFiles,
  unusable: ReadonlySet<string>,
): Promise<Look<Found>> {
  const seen = new Set<number>();
  const forgotten = new Set<number>();
  const isCandidate = ({ index, generation }: PublishedFile): boolean =>
    !forgotten.has(index) && !unusable.has(generation.uuid);
  for (;;) {
    const filesOf = new Map([...found.filesOf].map(([shard, files]) => [shard, files.filter(isCandidate)]));
    const firsts = [...filesOf.values()].flatMap(([first]) => (first === undefined ? [] : [first.index]));
    const index = firsts.find((one) => !seen.has(one));
    if (index === undefined) return { answer: { ...found, filesOf, forgotten } };
    const names = found.namesOf.get(index) ?? [];
    const sight = await lookForFiles(options, index, names);
    if (sight === 'seen') seen.add(index);
    else if (sight === 'forgotten') forgotten.add(index);
    else return sight;
  }
}
