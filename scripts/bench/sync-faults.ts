/**
 * `npx node scripts/bench/sync-faults.ts [--times 5] [--lease 5000]`: for how long a job in sync mode stands still when
 * a trainer is killed or stopped in mid-round, and when a pserver is killed: until rounds go on, from the cut, and
 * until the job is where it was. Three trainers and two pservers train lr on a9a; the master is asked for its round
 * every 10 ms.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Cluster } from '../chaos/cluster.ts';
import type { RoleName } from '../chaos/ends.ts';
import { byHand } from '../sync-digests/by-hand.ts';
import { jobNamed } from '../sync-digests/jobs.ts';
import { pause, Scene } from '../sync-digests/scene.ts';
import { median } from './figure.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '5' },
    lease: { type: 'string', default: '5000' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    data: { type: 'string', default: resolve(ROOT, '../shared/data') },
  },
});
const times = Number(values.times);
const leaseMs = Number(values.lease);
const STEADY_MS = 2_000;
const TIMEOUT_MS = 1_800_000;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** The round that the master told last, and when it first told a round this high. */
class Progress {
  readonly #scene: Scene;
  #isOver = false;
  round = 0;
  changedMs = performance.now();
  /** Gaps between changes since the last `forget`. */
  longestMs = 0;
  readonly done: Promise<void>;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.done = this.#watch();
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      const round = await this.#scene.round();
      if (round !== undefined && round !== this.round) {
        const now = performance.now();
        this.longestMs = Math.max(this.longestMs, now - this.changedMs);
        this.round = round;
        this.changedMs = now;
      }
      await pause(10);
    }
  }

  forget(): void {
    this.longestMs = 0;
  }

  end(): void {
    this.#isOver = true;
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await pause(5);
  }

  /** Until rounds have gone on for a while without a break. */
  async steady(): Promise<void> {
    for (let since = performance.now(); performance.now() - since < STEADY_MS; await pause(20)) {
      if (performance.now() - this.changedMs > STEADY_MS / 4) since = performance.now();
    }
  }
}

type Act = (cluster: Cluster) => { readonly undo?: () => void };

const strike = (role: RoleName, kind: 'kill' | 'pause'): Act => {
  let turn = 0;
  return (cluster) => {
    const awake = cluster.awake(role);
    const slot = awake[turn++ % awake.length]!;
    if (kind === 'pause') return { undo: cluster.pause(slot) };
    cluster.kill(slot);
    return {};
  };
};

async function measure(what: string, act: Act, cluster: Cluster, progress: Progress): Promise<void> {
  const stood: number[] = [];
  const back: number[] = [];
  for (let i = 0; i < times; i++) {
    const everybody = (): boolean => cluster.awake('trainer').length === 3 && cluster.awake('pserver').length === 2;
    await progress.until(everybody);
    await progress.steady();
    const round = progress.round;
    await progress.until(() => progress.round !== round);
    const before = progress.round;
    const beganMs = performance.now();
    progress.forget();
    const { undo } = act(cluster);
    // What is under way may still arrive.
    await progress.until(() => progress.longestMs > 0 && progress.round > before + 3);
    back.push(performance.now() - beganMs);
    await progress.steady();
    undo?.();
    stood.push(progress.longestMs);
  }
  const shown = (all: readonly number[]): string =>
    `${Math.round(median(all))} ms (${Math.round(Math.min(...all))} to ${Math.round(Math.max(...all))})`;
  print(`${what.padEnd(20)} no round for ${shown(stood).padEnd(30)} beyond where it was after ${shown(back)}`);
}

const folder = mkdtempSync(join(tmpdir(), 'paddlet-sync-faults-'));
const job = jobNamed('lr', values.data);
const file = {
  ...job.file,
  // Without end: it is given up when all was measured.
  training: { ...job.file.training, passes: 10_000 },
  cluster: { pservers: 2, trainers: 3, shards: 32, leaseTtl: `${leaseMs}ms` },
};
const scene = await Scene.open({
  ...{ paddlet: resolve(values.paddlet), folder, cacheFolder: join(folder, 'cache'), job: { ...job, file } },
  signal: AbortSignal.timeout(TIMEOUT_MS),
});
const progress = new Progress(scene);
const DONE = 'measured';
try {
  const options = { trainers: 3, pservers: 2, masters: 1, restartAfterMs: () => 100 };
  await byHand(scene, options, async (cluster) => {
    await progress.until(() => progress.round > 0);
    await progress.steady();
    print(`lease ${leaseMs} ms, a cut every second, load of the machine ${loadavg()[0]!.toFixed(1)}`);
    await measure('nothing', () => ({}), cluster, progress);
    await measure('trainer killed', strike('trainer', 'kill'), cluster, progress);
    await measure('trainer stopped', strike('trainer', 'pause'), cluster, progress);
    await measure('pserver killed', strike('pserver', 'kill'), cluster, progress);
    print(`load of the machine ${loadavg()[0]!.toFixed(1)}`);
    throw new Error(DONE);
  });
} catch (error) {
  if (!(error instanceof Error) || error.message !== DONE) throw error;
} finally {
  progress.end();
  await progress.done;
  await scene.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
