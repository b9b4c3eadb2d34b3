/**
 * Async mode: fills the parameter memory with units that have no live primary. Units that never had an owner get their
 * initial values. The others get the last state of their former owner. If that owner saved it on its way out, nothing
 * is missing. Otherwise the newest usable checkpoint is loaded, or else the initial values are used. Both are logged,
 * and the recovery number tells all roles that acknowledged pushes may be missing from these shards.
 */
import type { PaddletError } from '../../../../base/errors.ts';
import { type ExpectedJob, type LoadedPart, loadFirst } from '../../../../checkpoint/load/load.ts';
import type { WarmLoaded } from '../../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../../checkpoint/load/warm-plan.ts';
import type { Generation } from '../../../../checkpoint/registry/entry.ts';
import type { PublishedFile } from '../../../../checkpoint/registry/newest.ts';
import type { Owner, Rest } from '../../../../cluster/placement/heads.ts';
import { shardsOfUnit, shardsOfUnits, unitOf } from '../../../../core/units/units.ts';
import type { ParameterMemory } from '../../../../tensor/parameters.ts';
import type { FormerState } from '../../files/last-state.ts';
import { findNewestFiles, type NewestFiles } from '../../files/newest-files.ts';
import { untilParted } from '../../files/until-parted.ts';
import { type FileWait, isAwayForNow, type Look, lookForFiles, untilFound } from '../../files/wait-for-files.ts';
import { warmUp } from '../../files/warm-start.ts';
import { type FormerUnits, formerUnits, type OrphanHead } from '../../take/take-units.ts';

export interface LoadShardsOptions extends LoadFormerOptions {
  readonly orphans: readonly OrphanHead[];
  /** What shards without a state take over from another job. */
  readonly warmStart: WarmPlan | undefined;
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
    parts.push(...(await loadFormer(options, former)));
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

// ---- units that had an owner: its last state, from the files of all pservers

export interface LoadFormerOptions extends FileWait {
  readonly me: Owner;
  /** Of the job. */
  readonly units: number;
  readonly expected: ExpectedJob;
  readonly into: ParameterMemory;
  /** How long it is waited for copies that are being written down. */
  readonly partingLimitMs: number;
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
  readonly partedAt: NewestFiles['partedAt'];
}

/**
 * Each shard from the first usable one of its files. A file that turns out to be damaged makes another one the first,
 * which may be in another folder: so it is looked again. So it is for a file that vanished since it was seen.
 */
export async function loadFormer(options: LoadFormerOptions, former: FormerUnits): Promise<LoadedShards[]> {
  const { context, folder, expected, into, units } = options;
  const { log, disk } = context.host;
  const unusable = new Set<string>();
  const loaded: LoadedShards[] = [];
  let left: readonly number[] = shardsOfUnits(former.units, { units, shards: expected.shards });
  let partedAt: LoadedShards['partedAt'] | undefined;
  await untilParted({ ...options, limitMs: options.partingLimitMs }, former, left);
  while (left.length > 0) {
    const found = await untilFound(options, () => look(options, former, left, unusable));
    // A snapshot that came after the first look has what was not looked for: the units are not to be taken then.
    partedAt ??= found.partedAt;
    for (const complaint of found.complaints) log.error(complaint);
    const outcome = await loadFirst(found.filesOf, { disk, folder, expected, into });
    for (const [file, error] of outcome.unusable) {
      log.error(`${error.code}: ${error.message}`);
      if (!(await isAway(options, found, file, error))) unusable.add(file.generation.uuid);
    }
    const lost = outcome.left.filter((shard) => found.filesOf.get(shard)?.length === 0);
    tellLoss(options, former, found, { parts: outcome.parts, lost, hadFiles: unusable.size > 0 });
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
  const others = (namesOf.get(index) ?? []).filter((name) => name !== uuid);
  return isAwayForNow(context.host.disk, { folder, index }, [uuid, ...others]);
}

const shardOf = ({ shard }: { readonly shard: number }): number => shard;

const isExact = ({ exact }: Pick<Found, 'exact'>, { file }: LoadedPart): boolean => file === exact;

interface Outcome {
  readonly parts: readonly LoadedPart[];
  readonly lost: readonly number[];
  /** Files that are not usable. */
  readonly hadFiles: boolean;
}

function tellLoss(
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
  // A snapshot that no entry will name could not be found again.
  const isNamed = !isParting || exact?.index === me.index;
  const uuids = parts.map(({ file: { generation } }) => generation.uuid);
  const own = parts.flatMap(({ file: { index, generation } }) => (index === me.index ? [generation] : []));
  return {
    ledgers: new Map(parts.flatMap(({ loaded }) => [...loaded.ledgers])),
    seqs: new Map(parts.flatMap(({ loaded }) => loaded.positions.map(({ shard, seq }) => [shard, seq]))),
    rests: new Map(isNamed ? parts.filter((part) => isExact({ exact }, part)).flatMap(restsOf(units)) : []),
    source: uuids.length === 0 ? 'initial values, to be repaired' : uuids.join(' and '),
    files: own.map(({ uuid }) => uuid),
    partings: isParting ? own.filter((generation) => generation === exact?.generation) : [],
  };
}

/** A unit is in a file as a whole. */
const restsOf =
  (units: number) =>
  ({ loaded, file: { index, generation } }: LoadedPart): [number, Rest][] =>
    loaded.positions.map(({ shard }) => [unitOf(shard, units), { index, uuid: generation.uuid }]);

interface Found extends NewestFiles {
  /** Indexes whose files cannot be found and are given up. */
  readonly forgotten: ReadonlySet<number>;
}

/**
 * The files, once each pserver that has the first one of a shard has a file that is seen, or its files are given up:
 * then others are the first. A parting snapshot that cannot be found may have an equal at another pserver.
 */
async function look(
  options: LoadFormerOptions,
  former: FormerState,
  shards: readonly number[],
  unusable: ReadonlySet<string>,
): Promise<Look<Found>> {
  let notSeen: Look<Found> | undefined;
  for (const away = new Set(unusable); ; ) {
    // Read each time: an owner that keeps its memory may announce a parting snapshot still.
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
