/** One run of each job and of each of its peers, in turns. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataSet } from './data.ts';
import { LOOK_MS, type Look, Looks } from './looks.ts';
import type { Paddlet, Result } from './paddlet.ts';
import type { Peer, Task, Trained } from './peers.ts';
import { measureRequests } from './requests.ts';
import { jobOf, LEARNING_RATE, type Mode, type Row, type Scene, trainersOf } from './rows.ts';

export interface Trial {
  readonly looks: readonly Look[];
  readonly result: Result;
  /** From the command until the first look that saw a trainer train, and until its end. */
  readonly startSeconds: number;
  readonly seconds: number;
  readonly passes: number;
  /** Records per pass. */
  readonly records: number;
}

/** What one round gave for one job. */
export interface Round {
  readonly trials: ReadonlyMap<Mode, Trial>;
  readonly requests: number | undefined;
  readonly native: Trained | undefined;
  readonly sklearn: Trained | undefined;
  readonly alone: Trained | undefined;
}

export interface Bench {
  readonly paddlet: Paddlet;
  readonly folder: string;
  readonly native: Peer | undefined;
  readonly sklearn: Peer | undefined;
  readonly alone: Peer;
  readonly passesOf: (scene: Scene) => number;
  readonly requestsMs: number;
}

export async function measureRound(bench: Bench, scene: Scene, rows: readonly Row[], data: DataSet): Promise<Round> {
  const passes = bench.passesOf(scene);
  const modes = new Set<Mode>(rows.map(({ mode }) => mode));
  if (rows.some(({ ofAsync }) => ofAsync !== undefined)) modes.add('async');
  const trials = new Map<Mode, Trial>();
  for (const mode of modes) trials.set(mode, await train(bench, scene, mode, data));
  const wantsRequests = rows.some(({ ofRequests }) => ofRequests !== undefined);
  const task: Task = {
    ...scene,
    plain: data.plain,
    passes,
    learningRate: LEARNING_RATE[scene.model],
    job: jobOf(scene, 'async', passes, data.fields),
    dataFolder: data.folder,
  };
  return {
    trials,
    requests: wantsRequests ? await exchange(bench, scene, data) : undefined,
    native: await bench.native?.(task),
    sklearn: await bench.sklearn?.(task),
    alone: rows.some(({ ofAlone }) => ofAlone !== undefined) ? await bench.alone(task) : undefined,
  };
}

function train(bench: Bench, scene: Scene, mode: Mode, data: DataSet): Promise<Trial> {
  const passes = bench.passesOf(scene);
  const job = jobOf(scene, mode, passes, data.fields);
  return runJob(bench, { job, data, passes, processes: scene.ofEach + trainersOf(scene, mode), lookMs: LOOK_MS });
}

export interface RunOptions {
  readonly job: unknown;
  readonly data: DataSet;
  readonly passes: number;
  /** Trainers and pservers. */
  readonly processes: number;
  /** Between two looks. */
  readonly lookMs: number;
}

/** One job from its start to its result, under `paddlet run`, looked at all the time. */
export async function runJob(bench: Pick<Bench, 'paddlet' | 'folder'>, options: RunOptions): Promise<Trial> {
  const { job, data, passes, processes, lookMs } = options;
  writeFileSync(join(bench.folder, 'job.json'), JSON.stringify(job));
  // The first pass reads text: what was indexed and inflated before stays, parsed records do not.
  rmSync(join(bench.folder, 'run'), { recursive: true, force: true });
  const beganMs = performance.now();
  const run = bench.paddlet.start(
    ...['run', 'job.json', '--dir', 'run', '--data-dir', data.folder, '--json', '--expose-metrics'],
  );
  const looking = new Looks(run.pid, join(bench.folder, 'run', 'logs'), processes, lookMs);
  let out: string;
  try {
    out = await run.out;
  } finally {
    await looking.end();
  }
  const seconds = (performance.now() - beganMs) / 1000;
  const looks = await looking.end();
  const result = JSON.parse(out) as Result;
  if (result.records.lost !== 0) throw new Error(`${result.records.lost} records were lost`);
  const firstMs = looks.find(({ records }) => records > 0)?.atMs ?? beganMs;
  const records = result.records.applied / passes;
  return { looks, result, startSeconds: (firstMs - beganMs) / 1000, seconds, passes, records };
}

const exchange = (bench: Bench, scene: Scene, data: DataSet): Promise<number> =>
  measureRequests({
    executable: bench.paddlet.executable,
    job: jobOf(scene, 'async', 1_000, data.fields),
    dataFolder: data.folder,
    path: data.plain[0]!,
    forMs: bench.requestsMs,
  });

/** Seconds from the command to its result, of `examples/a9a-lr.yaml`. */
export async function timeRun(bench: Bench, example: string, dataFolder: string): Promise<number> {
  const beganMs = performance.now();
  await bench.paddlet.call('run', example, '--dir', 'timed', '--fresh', '--data-dir', dataFolder, '--json');
  return (performance.now() - beganMs) / 1000;
}
