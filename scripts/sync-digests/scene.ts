/** Where one cluster runs: a folder, a store, and what can be seen of the job from outside. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JobResult, jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { EtcdServer } from '../../test/etcd-server.ts';
import { keysOfJob, type SyncJob } from './jobs.ts';

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface SceneOptions {
  readonly paddlet: string;
  /** Folder of this cluster alone. */
  readonly folder: string;
  /** Decompressed files and indexes, shared. */
  readonly cacheFolder: string;
  readonly job: SyncJob;
  readonly etcd?: boolean;
  readonly signal: AbortSignal;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
}

export class Scene {
  readonly options: SceneOptions;
  readonly jobFile: string;
  readonly storeUrl: string;
  readonly store: Store;
  readonly #etcd: EtcdServer | undefined;
  readonly #children = new Set<ChildProcess>();

  private constructor(options: SceneOptions, storeUrl: string, store: Store, etcd: EtcdServer | undefined) {
    this.options = options;
    this.storeUrl = storeUrl;
    this.store = store;
    this.#etcd = etcd;
    this.jobFile = join(options.folder, 'job.yaml');
    options.signal.addEventListener('abort', () => this.#killAll());
    process.once('exit', () => this.#killAll());
  }

  static async open(options: SceneOptions): Promise<Scene> {
    mkdirSync(join(options.folder, 'logs'), { recursive: true });
    const etcd = options.etcd === true ? await EtcdServer.start() : undefined;
    const storeUrl = etcd?.url ?? `sqlite:${join(options.folder, 'store.db')}`;
    const scene = new Scene(options, storeUrl, await openStore(storeUrl, { clock: createClock(), log: SILENT }), etcd);
    writeFileSync(scene.jobFile, JSON.stringify(options.job.file, undefined, 2));
    return scene;
  }

  async close(): Promise<void> {
    this.#killAll();
    await this.store.close();
    await this.#etcd?.stop();
  }

  #killAll(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  /** Places of data, for roles that read them. */
  get dataFlags(): string[] {
    return ['--data-dir', this.options.job.dataDir, '--cache-dir', this.options.cacheFolder];
  }

  start(...args: string[]): { child: ChildProcess; ended: Promise<Ended> } {
    const { paddlet, folder } = this.options;
    const own = { PADDLET_STORE: this.storeUrl, PADDLET_EXPOSE_METRICS: 'true' };
    const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', ...own };
    const child = spawn(paddlet, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#children.add(child);
    let [out, log] = ['', ''];
    child.stdout.on('data', (bytes) => {
      out += String(bytes);
    });
    child.stderr.on('data', (bytes) => {
      log += String(bytes);
    });
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        this.#children.delete(child);
        writeFileSync(join(folder, 'logs', `${args[0]}.log`), log, { flag: 'a' });
        resolve({ code, out });
      });
    });
    return { child, ended };
  }

  /** `paddlet run` of a cluster of this size. */
  startRun(size: { trainers: number; pservers: number }): { child: ChildProcess; ended: Promise<Ended> } {
    const sets = Object.entries(size).flatMap(([what, count]) => ['--set', `cluster.${what}=${count}`]);
    return this.start('run', this.jobFile, '--dir', 'run', '--json', ...this.dataFlags, ...sets);
  }

  /** The round in work, as the master says; undefined while none is there. */
  async round(): Promise<number | undefined> {
    try {
      const address = await this.store.get(keysOfJob(this.options.job).masterAddr);
      if (address === undefined) return undefined;
      const answer = await fetch(`http://${address.value}/metrics`, { signal: AbortSignal.timeout(500) });
      const found = /^paddlet_master_round(?:\{[^}]*\})? (\d+)/m.exec(await answer.text())?.[1];
      return found === undefined ? undefined : Number(found);
    } catch {
      // The store or the master is away.
      return undefined;
    }
  }

  /** Until the job is in that round; throws when `ended` comes first. */
  async reaches(round: number, ended: Promise<unknown>): Promise<number> {
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    for (;;) {
      const now = await this.round();
      if (now !== undefined && now >= round) return now;
      if (isOver) throw new Error(`ended before round ${round}`);
      await pause(20);
    }
  }

  async hasResult(): Promise<boolean> {
    return (await this.store.get(keysOfJob(this.options.job).result)) !== undefined;
  }

  /** Throws what is there when the job failed. */
  async result(): Promise<JobResult> {
    const found = await this.store.get(keysOfJob(this.options.job).result);
    const parsed = jobResultSchema.safeParse(JSON.parse(found?.value ?? 'null'));
    if (!parsed.success) throw new Error(`no result: ${found?.value ?? 'none in the store'}`);
    return parsed.data;
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
