/**
 * `npx node scripts/bench/sync-cost.ts [--records 100000] [--passes 5] [--batch 128] [--paddlet dist/paddlet]`: what
 * sync mode costs. Trains logistic regression on made data with 1, 2 and 4 trainers on one pserver, sync and async in
 * turn, with whole clusters of the executable, and says where the trainers' time went; `wait` is the time at the
 * barrier.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    passes: { type: 'string', default: '5' },
    batch: { type: 'string', default: '128' },
    rounds: { type: 'string', default: '3' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const TRAINERS = [1, 2, 4];
const MODES = ['sync', 'async'] as const;
type Mode = (typeof MODES)[number];
const NAME = 'sync-cost';
const SAMPLE_MS = 100;

const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function paddlet(args: readonly string[]): Promise<string> {
  const child = spawn(resolve(values.paddlet), [...args, '--expose-metrics'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`paddlet ${args.join(' ')} ended with ${code}: ${out}`);
  return out;
}

type Phases = Record<string, number>;

/** Seconds of each phase, from the trainers' own series, as last seen before they ended. */
class PhaseSampler {
  readonly #seen = new Map<string, Phases>();
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(logs: string) {
    this.#done = this.#sample(logs);
  }

  async #sample(logs: string): Promise<void> {
    while (!this.#isOver) {
      for (const address of trainersIn(logs)) await this.#ask(address);
      await new Promise((go) => setTimeout(go, SAMPLE_MS));
    }
  }

  async #ask(address: string): Promise<void> {
    const text = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(1_000) })
      .then((answer) => answer.text())
      // It has not begun, or has ended.
      .catch(() => '');
    const phases: Phases = {};
    for (const [, phase, seconds] of text.matchAll(/phase_seconds_total\{phase="(\w+)"[^}]*\} (\S+)/g)) {
      phases[phase!] = Number(seconds);
    }
    if ((phases.compute ?? 0) > 0) this.#seen.set(address, phases);
  }

  async end(): Promise<Phases> {
    this.#isOver = true;
    await this.#done;
    const sums: Phases = {};
    for (const phases of this.#seen.values()) {
      for (const [phase, seconds] of Object.entries(phases)) {
        if (phase !== 'idle') sums[phase] = (sums[phase] ?? 0) + seconds;
      }
    }
    return sums;
  }
}

function trainersIn(logs: string): string[] {
  try {
    return readdirSync(logs)
      .filter((name) => name.startsWith('trainer'))
      .flatMap((name) => /trainer \S+ at (127\.\S+:\d+)/.exec(readFileSync(join(logs, name), 'utf8'))?.[1] ?? []);
  } catch {
    // The job has not begun.
    return [];
  }
}

interface Measured {
  readonly recordsPerSecond: number;
  readonly phases: Phases;
}

async function measure(mode: Mode, trainers: number): Promise<Measured> {
  const sampler = new PhaseSampler(join(folder, 'run', 'logs'));
  const settings = [`training.mode=${mode}`, `cluster.trainers=${trainers}`].flatMap((one) => ['--set', one]);
  const out = await paddlet(['run', 'job.json', '--dir', 'run', '--fresh', '--json', ...settings]);
  const { recordsPerSecond } = JSON.parse(out) as { recordsPerSecond: number };
  return { recordsPerSecond, phases: await sampler.end() };
}

const share = (phases: Phases, phase: string): string => {
  const all = Object.values(phases).reduce((sum, seconds) => sum + seconds, 0);
  return `${((100 * (phases[phase] ?? 0)) / Math.max(all, 1e-9)).toFixed(0)} %`;
};

await paddlet([
  'data',
  'synth',
  '--output',
  '.',
  '--records',
  values.records,
  '--test-records',
  '1000',
  '--factors',
  '0',
]);
const job = {
  name: NAME,
  data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: 1000 },
  model: { type: 'lr' },
  optimizer: { type: 'adagrad', learningRate: 0.05 },
  training: { passes: Number(values.passes), batchSize: Number(values.batch) },
  cluster: { pservers: 1 },
  checkpoint: { interval: 'off' },
};
writeFileSync(join(folder, 'job.json'), JSON.stringify(job));
print(`load before: ${loadavg()[0]!.toFixed(2)} on ${availableParallelism()} cores`);
const rows: Record<string, string | number>[] = [];
for (const trainers of TRAINERS) {
  const runs: Record<Mode, Measured[]> = { sync: [], async: [] };
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const mode of MODES) runs[mode].push(await measure(mode, trainers));
  }
  const best = (mode: Mode): Measured => runs[mode].reduce((a, b) => (b.recordsPerSecond > a.recordsPerSecond ? b : a));
  const speeds: Record<Mode, number> = { sync: best('sync').recordsPerSecond, async: best('async').recordsPerSecond };
  for (const mode of MODES) {
    const { phases } = best(mode);
    rows.push({
      trainers,
      mode,
      'records/s': speeds[mode],
      'of async': (speeds[mode] / speeds.async).toFixed(2),
      wait: share(phases, 'wait'),
      pull: share(phases, 'pull'),
      compute: share(phases, 'compute'),
      push: share(phases, 'push'),
      read: share(phases, 'read'),
    });
  }
}
// biome-ignore lint/suspicious/noConsole: the result of a script
console.table(rows);
print(`best of ${values.rounds} rounds; load after: ${loadavg()[0]!.toFixed(2)}`);
