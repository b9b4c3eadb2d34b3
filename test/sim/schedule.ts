/** One simulated job with its faults, from a seed: runs it, and judges it. */
import { EXIT } from '../../src/base/errors.ts';
import { parseJobEnd } from '../../src/cluster/job/job-watch.ts';
import type { Job } from '../../src/job/schema.ts';
import type { RequestHandler } from '../../src/protocol/messages/channel.ts';
import { Cluster } from './cluster.ts';
import { compareCopies } from './comparing.ts';
import { withDeltas } from './deltas.ts';
import { createDice } from './dice.ts';
import { evaluated } from './evaluated.ts';
import type { PlannedFault } from './fault.ts';
import { COPIED_MIX, type FaultMix, isResized, usualMix } from './fault-kinds.ts';
import { planFaults, unleash } from './faults.ts';
import { KEYS } from './job-keys.ts';
import type { Mode } from './mode.ts';
import { allOracles } from './oracles/all.ts';
import type { World } from './oracles/oracle.ts';
import { CHECKPOINTS_DIR } from './paths.ts';
import type { SimulatedProcess } from './process.ts';
import { createRoundWorkload } from './round-workload.ts';
import { type ClusterShape, drawCopiedShape, drawFixedShape, drawShape } from './shape.ts';
import { movesLeft } from './spread.ts';
import { Timeline, turn } from './timeline.ts';
import { Witness } from './witness.ts';
import { createWorkload, type Workload } from './workload.ts';

export interface ScheduleOptions {
  readonly seed: number;
  /** Default: async. */
  readonly mode?: Mode;
  readonly mix?: FaultMix;
  /** Default: drawn from the seed. */
  readonly shape?: ClusterShape;
  /**
   * The job has fewer passes at first. When it has ended, all start again with the whole number. There are faults in
   * both parts.
   */
  readonly isContinued?: boolean;
  /** Each unit has copies. */
  readonly isCopied?: boolean;
  /** The job is evaluated while it trains, and may end early. */
  readonly isEvaluated?: boolean;
  /** Most files have changes only. */
  readonly hasDeltas?: boolean;
  /** Gets each line of the story. */
  readonly story?: (line: string) => void;
  readonly wrapHandler?: (server: SimulatedProcess, handler: RequestHandler) => RequestHandler;
}

export interface ScheduleReport {
  readonly seed: number;
  /** What must never happen and did; empty for a good run. */
  readonly violations: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly events: number;
  readonly virtualMs: number;
}

/** After the last fault has ended, a job ends within this virtual time. */
const LIVENESS_MS = 240_000;
/** Of slow trainers, which may have to do everything once more when a fault comes just before the result. */
const SLOW_LIVENESS_MS = 960_000;

export async function runSchedule(options: ScheduleOptions): Promise<ScheduleReport> {
  const { seed, story, mode = 'async' } = options;
  const { mix = options.isCopied ? COPIED_MIX : usualMix(mode) } = options;
  const { shape = options.isCopied ? drawCopiedShape(seed) : shapeOf(seed, mix) } = options;
  const timeline = new Timeline();
  const tell = (who: string, what: string): void => story?.(line(timeline.nowMs, who, what));
  const witness = new Witness(KEYS, tell);
  const dice = createDice(seed, 'workload');
  const plain = mode === 'sync' ? createRoundWorkload(dice, shape) : createWorkload(dice, shape);
  const whole = options.isEvaluated ? evaluated(plain, seed, options.isContinued ? FIRST_PASSES : undefined) : plain;
  const workload = options.hasDeltas ? withDeltas(whole, seed) : whole;
  const { wrapHandler } = options;
  const job = options.isContinued ? withPasses(workload.job, FIRST_PASSES) : workload.job;
  const cluster = new Cluster({ seed, shape, workload, timeline, witness, job, ...(wrapHandler && { wrapHandler }) });
  witness.consult(allOracles(worldOf(cluster, { mode, shape, workload })));
  const onRejection = (reason: unknown): void =>
    witness.violated(`unhandled: ${reason instanceof Error ? reason.stack : String(reason)}`);
  process.on('unhandledRejection', onRejection);
  const endComparing = shape.replicas > 1 ? compareCopies(cluster, createDice(seed, 'comparing')) : () => {};
  try {
    const healedMs = await runUntilOver(cluster, planFaults(createDice(seed, 'faults'), mix), 0);
    if (options.isContinued && witness.violations.length === 0) {
      witness.continued();
      cluster.continueWith(workload.job);
      await runUntilOver(cluster, planFaults(createDice(seed, 'later faults'), mix), healedMs);
    }
    if (witness.violations.length === 0) judge(cluster, workload);
  } finally {
    endComparing();
    process.off('unhandledRejection', onRejection);
  }
  return {
    seed,
    violations: witness.violations,
    counts: witness.counts,
    events: timeline.events,
    virtualMs: timeline.nowMs,
  };
}

const shapeOf = (seed: number, mix: FaultMix): ClusterShape => (isResized(mix) ? drawShape : drawFixedShape)(seed);

/** After the last fault has ended, units are where the plan wants them within this virtual time. */
const SPREAD_MS = 30_000;
/** While a model grows, a unit that the plan wants elsewhere stays for some seconds: it may be wanted back. */
const SIZES_MS = 15_000;

const isConcluded = ({ store }: Cluster): boolean => store.data.get(KEYS.result) !== undefined;

/** Of a job that is continued. */
const FIRST_PASSES = 1;

const withPasses = (job: Job, passes: number): Job => ({ ...job, training: { ...job.training, passes } });

/** From now on, with these faults, and those before, which go on until `lastingMs`. Gives when all have ended. */
async function runUntilOver(cluster: Cluster, plan: readonly PlannedFault[], lastingMs: number): Promise<number> {
  const { timeline, witness } = cluster;
  const fromMs = timeline.nowMs;
  for (const fault of plan) unleash(cluster, { ...fault, atMs: fromMs + fault.atMs });
  const healedMs = Math.max(lastingMs, fromMs, ...plan.map(({ atMs, forMs }) => fromMs + atMs + forMs));
  let cancel = timeline.at(healedMs + SPREAD_MS, look);
  function look(): void {
    if (cluster.isOver || isConcluded(cluster)) return;
    // A process may have died later than the fault was planned for.
    const calmMs = timeline.nowMs - cluster.calmSinceMs;
    if (calmMs < SPREAD_MS) {
      cancel = timeline.after(Math.max(1, Math.min(SPREAD_MS, SPREAD_MS - calmMs)), look);
      return;
    }
    witness.count('units spread in time');
    const left = movesLeft(cluster);
    if (left.length > 0) cancel = timeline.after(SIZES_MS, () => lookAgain(new Set(left)));
  }
  function lookAgain(before: ReadonlySet<string>): void {
    if (cluster.isOver || isConcluded(cluster) || timeline.nowMs - cluster.calmSinceMs < SPREAD_MS) return;
    const left = movesLeft(cluster).filter((move) => before.has(move));
    if (left.length > 0) witness.violated(`units are not where they belong: ${left.join(', ')}`);
  }
  const isOver = (): boolean => cluster.isOver || witness.violations.length > 0;
  const end = await timeline.run(
    isOver,
    healedMs + (cluster.shape.trainerSlowness > 1 ? SLOW_LIVENESS_MS : LIVENESS_MS),
  );
  // What comes after has faults of its own.
  cancel();
  await turn();
  if (end !== 'over') witness.violated(stillWaiting(cluster, end));
  return healedMs;
}

const line = (nowMs: number, who: string, what: string): string =>
  `${(nowMs / 1000).toFixed(3).padStart(9)} s  ${who.padEnd(10)} ${what}`;

interface WorldFacts {
  readonly mode: Mode;
  readonly shape: ClusterShape;
  readonly workload: Workload;
}

function worldOf(cluster: Cluster, { mode, shape, workload }: WorldFacts): World {
  const { store, witness, supervisors } = cluster;
  const machineOf = (index: number) => supervisors.find(({ member }) => member.index === index)!.machine;
  return {
    mode,
    keys: KEYS,
    ...{
      pservers: shape.pservers,
      shards: shape.shards,
      units: shape.units,
      replicas: shape.replicas,
      minInSync: shape.minInSync,
      keep: workload.job.checkpoint.keep,
    },
    get: (key) => store.data.get(key),
    keyNames: () => store.data.range({ prefix: KEYS.chroot }).entries.map(({ key }) => key),
    filesOf: (index) => machineOf(index).disk.names(`${CHECKPOINTS_DIR}/${index}`),
    wasDamaged: (index) => machineOf(index).wasDamaged,
    refusedWrites: (index) => machineOf(index).refusedWrites,
    nowMs: () => cluster.timeline.nowMs,
    calmSinceMs: () => cluster.calmSinceMs,
    count: (what) => witness.count(what),
    violated: (what) => witness.violated(what),
  };
}

function stillWaiting({ supervisors }: Cluster, end: string): string {
  const names = supervisors.filter(({ isOver }) => !isOver).map(({ member }) => member.name);
  return `the job does not end (${end}): ${names.join(', ')} still there`;
}

/** The job is over: did it do what it promised? */
function judge(cluster: Cluster, workload: Workload): void {
  const { witness, store, supervisors } = cluster;
  const entry = store.data.get(KEYS.result);
  if (entry === undefined) {
    witness.violated('the job ended without a result');
    return;
  }
  const end = parseJobEnd(entry.key, entry.value);
  if ('failure' in end) {
    witness.violated(`the job failed: ${end.failure.code}: ${end.failure.message}`);
    return;
  }
  for (const { member, outcome, isAway } of supervisors) {
    if (!isAway && outcome !== EXIT.done)
      witness.violated(`${member.name} ended with ${outcome} though the job succeeded`);
  }
  const { records, modelDigest, tasks, passes, evaluation } = end.result;
  const found: Readonly<Record<string, unknown>> = {
    ...{ ...records, modelDigest, discardedTasks: tasks.discarded, passes },
    ...{ best: evaluation?.best?.checkpoint, last: evaluation?.last.checkpoint },
  };
  if (evaluation?.isStoppedEarly) witness.count('job ended early');
  for (const [field, wanted] of Object.entries({ ...workload.expected(), lost: 0 })) {
    const value = found[field];
    if (value !== wanted) witness.violated(`${field} is ${value}, not ${wanted}`);
  }
}
