/**
 * Sync mode: fills the parameter memory of a pserver. All shards of all pservers must be at neighboring rounds, so
 * there are only two ways to start (DESIGN §6, "Cuts"): from the exact last state of the former owner, or from the last
 * complete cut, to which then all pservers go back under a new timeline. A damaged file of the cut leads to the cut
 * before it, and finally to the initial values. That costs only time: the rounds are computed again with the same bits.
 * But all pservers pay it, so a file of the cut that cannot be found is waited for.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { corrupt } from '../../../checkpoint/file/files.ts';
import type { RoundsMeta } from '../../../checkpoint/file/format.ts';
import { checkpointPath, type FilePlace } from '../../../checkpoint/file/paths.ts';
import { type ExpectedJob, loadGeneration } from '../../../checkpoint/load/load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import { type Cut, type CutFile, readCut, rolledBack, rolledFurtherBack } from '../../../checkpoint/registry/cut.ts';
import type { Generation } from '../../../checkpoint/registry/entry.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { raiseTimeline } from '../../../cluster/placement/cut-view.ts';
import type { Rest } from '../../../cluster/placement/heads.ts';
import type { Fence } from '../../../store/fence.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { type FormerState, type LastState, lastState } from '../files/last-state.ts';
import { type FileWait, forgottenFiles, type Look, untilFound, whyUnseen } from '../files/wait-for-files.ts';
import { warmUp } from '../files/warm-start.ts';
import type { ShardState } from '../shards.ts';

export interface LoadRoundsOptions extends FileWait {
  readonly fence: Fence;
  readonly expected: ExpectedJob;
  readonly warmStart: WarmPlan | undefined;
  /** The shards of this index. */
  readonly shards: readonly number[];
  /** Makes memory without any shard; called for each try. */
  readonly makeParameters: () => Parameters;
}

export interface LoadedRounds extends ShardState {
  readonly timeline: number;
  readonly rounds: RoundsMeta;
  /** Of an exact last state: when its owner had parted, by its token; 0n if it had not. */
  readonly partedAt: ReadonlyMap<string, bigint>;
  /** The file that has all of the last state, if that is what was loaded. */
  readonly rest: Rest | undefined;
  /** Where it came from, for the log. */
  readonly source: string;
  /** Names of the files that were loaded from this pserver's own folder. */
  readonly files: readonly string[];
}

/** At the start of a process. `former`: where the last state of the units was. May raise the timeline. */
export async function loadAtStart(
  options: LoadRoundsOptions,
  former: readonly FormerState[],
  cut: Cut,
): Promise<LoadedRounds> {
  const { log } = options.context.host;
  const [only] = former;
  if (only === undefined && cut.round === 0) return loadInitial(options, cut.timeline);
  if (only !== undefined && former.length === 1) {
    const exact = await loadLastState(options, only, cut);
    if (exact !== undefined) return exact;
  }
  log.warn(`the last state of pserver ${options.index} is lost: all pservers go back to round ${cut.round}`);
  const raised = await raiseTimeline(options.context, options.fence, rolledBack);
  return loadCut(options, raised.cut);
}

/** Undefined when the last state is not of the current timeline, or its file is damaged. */
async function loadLastState(
  options: LoadRoundsOptions,
  former: FormerState,
  cut: Cut,
): Promise<LoadedRounds | undefined> {
  const { context } = options;
  const { log } = context.host;
  const found = await untilFound(options, () => lookForAny(options, former, cut));
  const { index, generations, exact, complaint, parting } = found;
  if (complaint !== undefined) log.error(complaint);
  const [newest] = generations;
  const isAll = found.shards.length === options.shards.length;
  if (newest?.round === undefined || !exact || !isAll || newest.timeline !== String(cut.timeline)) return undefined;
  try {
    const loaded = await loadFile(options, index, newest, newest.round);
    // A parting snapshot is in no entry, where it could be found again.
    const rest = parting === undefined ? { index, uuid: newest.uuid } : undefined;
    return { ...loaded, timeline: cut.timeline, rest, partedAt: new Map([[former.primary.token, found.partedAt]]) };
  } catch (error) {
    log.error(unusable(error).message);
    return undefined;
  }
}

/** The last state, once any file is seen that the owner published, or all of them are given up. */
async function lookForAny(options: LoadRoundsOptions, former: FormerState, cut: Cut): Promise<Look<LastState>> {
  const { context, folder } = options;
  // Read each time: an owner that keeps its memory may announce a parting snapshot still.
  const state = await lastState(context, former, options.shards);
  const { index, generations } = state;
  const ofCuts = [cut, cut.before].flatMap((one) => one?.files.filter((file) => file.index === index) ?? []);
  const published = [...generations, ...ofCuts];
  if (published.length === 0) return { answer: state };
  const uuids = [...new Set(published.map(({ uuid }) => uuid))];
  return lookFor(options, { folder, index }, uuids, () => state);
}

/** `answer` is called when one of the files is seen, or all are given up. */
async function lookFor<T>(
  options: LoadRoundsOptions,
  place: FilePlace,
  uuids: readonly string[],
  answer: (isForgotten: boolean) => T,
): Promise<Look<T>> {
  const missing = await whyUnseen(options.context.host.disk, place, uuids);
  if (missing === undefined) return { answer: answer(false) };
  const forgotten = await forgottenFiles(options);
  return uuids.every((uuid) => forgotten.has(uuid)) ? { answer: answer(true) } : { missing };
}

/**
 * The other pservers go back to the cut as well. Goes further back when this pserver's file of it is damaged or given
 * up. While the file cannot be found, the cut may change: then that one is loaded.
 */
export async function loadCut(options: LoadRoundsOptions, cut: Cut): Promise<LoadedRounds> {
  const { context, fence, index } = options;
  if (cut.round === 0) return loadInitial(options, cut.timeline);
  const file = cut.files.find((one) => one.index === index);
  const found = file && (await untilFound(options, () => lookForCut(options, cut, file)));
  if (typeof found === 'object') return loadCut(options, found);
  try {
    if (file === undefined) throw corrupt(context.keys.cut, `the cut has no file of pserver ${index}`);
    if (found === 'forgotten') throw corrupt(context.keys.cut, `file ${file.uuid} of the cut is given up as lost`);
    const loaded = await loadFile(options, index, generationOfCut(file), cut.round);
    return { ...loaded, timeline: cut.timeline, rest: undefined, partedAt: NO_OWNERS };
  } catch (error) {
    // It vanished since it was seen.
    if (isPaddletError(error, 'CheckpointMissing')) return loadCut(options, cut);
    context.host.log.error(unusable(error).message);
  }
  const further = (current: Cut): Cut | undefined =>
    current.timeline === cut.timeline ? rolledFurtherBack(current) : undefined;
  const raised = await raiseTimeline(context, fence, further);
  context.host.log.warn(`the cut of round ${cut.round} is damaged: all pservers go back to round ${raised.cut.round}`);
  return loadCut(options, raised.cut);
}

/** `Cut`: this one is now the cut to go back to. */
async function lookForCut(
  options: LoadRoundsOptions,
  cut: Cut,
  { uuid, index }: CutFile,
): Promise<Look<'seen' | 'forgotten' | Cut>> {
  const { context, folder } = options;
  const { store, keys } = context;
  const look = await lookFor(options, { folder, index }, [uuid], (isForgotten) => (isForgotten ? 'forgotten' : 'seen'));
  if ('answer' in look) return look;
  const now = await retryStore(context, () => readCut(store, keys.cut));
  return now.cut.timeline === cut.timeline ? look : { answer: now.cut };
}

function unusable(error: unknown): PaddletError {
  if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return error;
  throw error;
}

const generationOfCut = ({ uuid, md5 }: CutFile): Generation => ({ uuid, md5, timestamp: 0 });

type LoadedFile = Omit<LoadedRounds, 'timeline' | 'rest' | 'partedAt'>;

const NO_OWNERS: ReadonlyMap<string, bigint> = new Map();

async function loadFile(
  options: LoadRoundsOptions,
  index: number,
  generation: Generation,
  round: number,
): Promise<LoadedFile> {
  const { context, folder, expected, shards } = options;
  const place = { folder, index };
  const parameters = options.makeParameters();
  const loaded = await loadGeneration(generation, {
    disk: context.host.disk,
    place,
    expected,
    into: parameters,
    shards,
  });
  const path = checkpointPath(place, generation.uuid);
  const { rounds } = loaded.facts;
  const elsewhere = loaded.positions.find(({ seq }) => seq !== round);
  if (rounds?.round !== round) throw corrupt(path, `the file is of round ${rounds?.round}, not ${round}`);
  if (elsewhere !== undefined)
    throw corrupt(path, `shard ${elsewhere.shard} is at round ${elsewhere.seq}, not ${round}`);
  const missing = shards.find((shard) => !parameters.hasShard(shard));
  if (missing !== undefined) throw corrupt(path, `the file has no shard ${missing}`);
  return {
    parameters,
    rounds,
    ledgers: loaded.ledgers,
    seqs: new Map(loaded.positions.map(({ shard, seq }) => [shard, seq])),
    source: `${generation.uuid}, round ${round}`,
    files: index === options.index ? [generation.uuid] : [],
  };
}

/** Version 0: the initial values, or those that the job takes over from another one. */
async function loadInitial(options: LoadRoundsOptions, timeline: number): Promise<LoadedRounds> {
  const parameters = options.makeParameters();
  for (const shard of options.shards) parameters.addShard(shard);
  await warmUp({ ...options, into: parameters }, options.shards);
  return {
    parameters,
    timeline,
    rounds: { round: 0, metrics: [] },
    ledgers: new Map(),
    seqs: new Map(),
    rest: undefined,
    partedAt: NO_OWNERS,
    source: 'initial values',
    files: [],
  };
}
