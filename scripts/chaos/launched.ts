/** A job under `paddlet run`, whose processes are killed one by one. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClock } from '../../src/host/clock.ts';
import { defaultChroot, type Keys, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type Entries, JobStore } from '../../test/executable/job-store.ts';
import { Running } from '../../test/executable/processes.ts';
import type { ChaosJob } from './jobs.ts';

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const FOLDER = 'job';
const INTERRUPTED = 130;
// What a run has started ends with it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(INTERRUPTED));

export type LaunchedRole = 'master' | 'pserver' | 'trainer';

export interface LaunchedOptions {
  readonly paddlet: string;
  readonly folder: string;
  readonly job: ChaosJob;
  /** Fail points that make the job last. */
  readonly failPoints?: string;
  /** Default: SQLite in the folder of the job. */
  readonly storeUrl?: string;
}

export const statusIs =
  (wanted: 'OK' | 'UNHEALTHY') =>
  (entries: Entries): boolean =>
    entries.get('/pserver_cluster_status')?.value.includes(`"cluster_status":"${wanted}"`) ?? false;

export class Launched {
  readonly running: Running;
  readonly store: JobStore;
  readonly rawStore: Store;
  readonly keys: Keys;
  /** What the launcher and its processes log. */
  readonly logs: string;
  readonly checkpoints: string;

  private constructor(running: Running, store: Store, { folder, job }: LaunchedOptions) {
    const { name } = job.job;
    this.running = running;
    this.rawStore = store;
    this.store = new JobStore(store, defaultChroot(name));
    this.keys = keysOf(defaultChroot(name));
    this.logs = join(folder, FOLDER, 'logs');
    this.checkpoints = join(folder, FOLDER, 'checkpoints');
  }

  static async start(options: LaunchedOptions): Promise<Launched> {
    const { paddlet, folder, job, failPoints, storeUrl } = options;
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'job.json');
    writeFileSync(file, JSON.stringify(job.job, undefined, 2));
    const where = storeUrl === undefined ? [] : ['--store', storeUrl];
    const command = [paddlet, 'run', file, '--dir', FOLDER, '--data-dir', job.dataDir, '--expose-metrics', '--json'];
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      NO_COLOR: '1',
      ...(failPoints && { PADDLET_FAIL: failPoints }),
    };
    const running = new Running('run', [...command, ...where], { cwd: folder, env });
    process.once('exit', () => !running.isOver && running.kill('SIGTERM'));
    await running.said(/logs in/);
    const url = storeUrl ?? `sqlite:${join(folder, FOLDER, 'store.db')}`;
    return new Launched(running, await openStore(url, { clock: createClock(), log: SILENT }), options);
  }

  /** Those of the role that are running now, with their index where they have one. */
  processes(role: LaunchedRole): { readonly pid: number; readonly index: number }[] {
    const { pid } = this.running;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((child) => child.trim() !== '')
      .map((child) => ({ pid: Number(child), command: commandOf(child) }))
      .filter(({ command }) => command[1] === role)
      .map(({ pid, command }) => ({ pid, index: Number(command[command.indexOf('--index') + 1]) }));
  }

  /** SIGKILL. */
  kill(pid: number): void {
    process.kill(pid, 'SIGKILL');
  }

  until(reached: (entries: Entries) => boolean): Promise<void> {
    return this.store.until(reached, this.running);
  }

  get hasResult(): Promise<boolean> {
    return this.store.get('/result').then((found) => found !== undefined);
  }

  /** Text of all logs. */
  allLogs(): string {
    return readdirSync(this.logs)
      .map((name) => readFileSync(join(this.logs, name), 'utf8'))
      .join('\n');
  }

  async close(): Promise<void> {
    await this.rawStore.close();
  }
}

function commandOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // It has ended.
    return [];
  }
}
