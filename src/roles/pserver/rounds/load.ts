/**
 * Sync mode: fills the parameter memory of a pserver. All shards of all pservers must be at neighboring rounds, so
 * there are only two ways to start (DESIGN §6, "Cuts"): from the exact last state of the former owner, or from the last
 * complete cut, to which then all pservers go back under a new timeline. A damaged file of the cut leads to the cut
 * before it, and finally to the initial values. That costs only time: the rounds are computed again with the same bits.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { corrupt } from '../../../checkpoint/file/files.ts';
import type { RoundsMeta } from '../../../checkpoint/file/format.ts';
import { checkpointPath } from '../../../checkpoint/file/paths.ts';
import { type ExpectedJob, loadGeneration } from '../../../checkpoint/load/load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import { type Cut, type CutFile, rolledBack, rolledFurtherBack } from '../../../checkpoint/registry/cut.ts';
import { type Generation, generationsOf } from '../../../checkpoint/registry/entry.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { raiseTimeline } from '../../../cluster/placement/cut-view.ts';
import type { Owner } from '../../../cluster/placement/heads.ts';
import type { Fence } from '../../../store/fence.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { lastState } from '../files/last-state.ts';
import { warmUp } from '../files/warm-start.ts';
import type { ShardState } from '../shards.ts';

export interface LoadRoundsOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
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
  /** A file was loaded that is marked as the last state. */
  readonly fromClean: boolean;
  /** Where it came from, for the log. */
  readonly source: string;
  readonly files: readonly string[];
}

/** At the start of a process. `owners` owned the shards before. May raise the timeline. */
export async function loadAtStart(
  options: LoadRoundsOptions,
  owners: readonly Owner[],
  cut: Cut,
): Promise<LoadedRounds> {
  const { log } = options.context.host;
  const [owner] = owners;
  if (owner === undefined && cut.round === 0) return loadInitial(options, cut.timeline);
  if (owner !== undefined && owners.length === 1) {
    const exact = await loadLastState(options, owner, cut);
    if (exact !== undefined) return exact;
  }
  log.warn(`the last state of pserver ${options.index} is lost: all pservers go back to round ${cut.round}`);
  const raised = await raiseTimeline(options.context, options.fence, rolledBack);
  return loadCut(options, raised.cut);
}

/** Undefined when the last state is not of the current timeline, or its file is damaged. */
async function loadLastState(options: LoadRoundsOptions, owner: Owner, cut: Cut): Promise<LoadedRounds | undefined> {
  const { context } = options;
  const { log } = context.host;
  const { entry, exact, complaint } = await lastState(context, owner);
  if (complaint !== undefined) log.error(complaint);
  const newest = entry && generationsOf(entry)[0];
  if (newest?.round === undefined || !exact || newest.timeline !== String(cut.timeline)) return undefined;
  try {
    return { ...(await loadFile(options, owner.index, newest, newest.round)), timeline: cut.timeline, fromClean: true };
  } catch (error) {
    log.error(unusable(error).message);
    return undefined;
  }
}

/** The other pservers go back to the cut as well. Goes further back when this pserver's file of it cannot be used. */
export async function loadCut(options: LoadRoundsOptions, cut: Cut): Promise<LoadedRounds> {
  const { context, fence, index } = options;
  if (cut.round === 0) return loadInitial(options, cut.timeline);
  const file = cut.files.find((one) => one.index === index);
  try {
    if (file === undefined) throw corrupt(context.keys.cut, `the cut has no file of pserver ${index}`);
    const loaded = await loadFile(options, index, generationOfCut(file), cut.round);
    return { ...loaded, timeline: cut.timeline, fromClean: false };
  } catch (error) {
    context.host.log.error(unusable(error).message);
  }
  const further = (current: Cut): Cut | undefined =>
    current.timeline === cut.timeline ? rolledFurtherBack(current) : undefined;
  const raised = await raiseTimeline(context, fence, further);
  context.host.log.warn(`the cut of round ${cut.round} is damaged: all pservers go back to round ${raised.cut.round}`);
  return loadCut(options, raised.cut);
}

function unusable(error: unknown): PaddletError {
  if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return error;
  throw error;
}

const generationOfCut = ({ uuid, md5 }: CutFile): Generation => ({ uuid, md5, timestamp: 0 });

type LoadedFile = Omit<LoadedRounds, 'timeline' | 'fromClean'>;

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
    files: [generation.uuid],
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
    fromClean: false,
    source: 'initial values',
    files: [],
  };
}
