/** A master and pservers of a job without trainers, started by hand; a pserver that was killed is started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface HandClusterOptions {
  readonly paddlet: string;
  readonly folder: string;
  readonly storeUrl: string;
  readonly job: object;
  /** The parent of each pserver proves its death. */
  readonly isGuarded: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

export class HandCluster {
  readonly #options: HandClusterOptions;
  readonly #pservers = new Map<number, ChildProcess>();
  readonly #running = new Set<ChildProcess>();
  #isOver = false;

  constructor(options: HandClusterOptions) {
    this.#options = options;
    process.once('exit', () => this.killAll());
  }

  start(pservers: number): void {
    const { folder, job } = this.#options;
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const file = join(folder, 'job.json');
    writeFileSync(file, JSON.stringify(job));
    this.#start('master', ['master', file]);
    for (let index = 0; index < pservers; index++) this.#startPserver(index);
  }

  /** Resolves with the time of the signal when the process is gone and another one was started. */
  async kill(index: number): Promise<number> {
    const pid = this.pidOf(index);
    const child = this.#pservers.get(index)!;
    const ended = once(child, 'exit');
    const killedMs = performance.now();
    process.kill(pid, 'SIGKILL');
    await ended;
    this.#startPserver(index);
    return killedMs;
  }

  /** Pid of the pserver itself, which is the child of its guard. */
  pidOf(index: number): number {
    const { pid } = this.#pservers.get(index)!;
    if (!this.#options.isGuarded) return pid!;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    if (children.length !== 1 || children[0] === '') throw new Error(`the guard of pserver ${index} has no one child`);
    return Number(children[0]);
  }

  killAll(): void {
    this.#isOver = true;
    for (const child of this.#running) child.kill('SIGKILL');
  }

  #startPserver(index: number): void {
    if (this.#isOver) return;
    const guard = this.#options.isGuarded ? ['--guard'] : [];
    const args = ['pserver', '--index', `${index}`, '--dir', 'roles', ...guard];
    this.#pservers.set(index, this.#start(`pserver-${index}`, args));
  }

  #start(name: string, args: readonly string[]): ChildProcess {
    const { paddlet, folder, storeUrl, env: more } = this.#options;
    const log = openSync(join(folder, 'logs', `${name}.log`), 'a');
    const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', PADDLET_STORE: storeUrl, ...more };
    const child = spawn(paddlet, args, { cwd: folder, env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }
}
