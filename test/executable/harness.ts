/**
 * A place for one test: a folder, the processes started in it, their logs. Nothing here sleeps: tests wait for
 * processes to end, for log lines, and for keys of the store. When a test fails its logs are printed; in any case every
 * process that was started under it, however far down, is killed and the folder removed.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFailed, onTestFinished } from 'vitest';
import { type JobResult, jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { checkPrinted } from '../printed-json.ts';
import { type Ended, PADDLET, Running, startedUnder } from './processes.ts';

const MARK = 'PADDLET_TEST_PLACE';
const SHOWN_CHARACTERS = 6_000;

export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'paddlet-cluster-'));
  readonly #mark = randomUUID();
  readonly #running: Running[] = [];
  readonly #sweepAtExit = (): void => this.#kill();

  /** Of processes started here: what a shell gives, and nothing of this process's own settings. */
  readonly env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: this.folder,
    NO_COLOR: '1',
    [MARK]: this.#mark,
  };

  constructor() {
    process.once('exit', this.#sweepAtExit);
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  /** JSON is YAML; gives the file's path. */
  writeJob(job: object, name = 'job.yaml'): string {
    const path = this.path(name);
    writeFileSync(path, JSON.stringify(job, undefined, 2));
    return path;
  }

  /** Starts `paddlet <args>` in the folder. */
  start(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    return this.startCommand(name, [PADDLET, ...args], env);
  }

  startCommand(name: string, command: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const running = new Running(name, command, { cwd: this.folder, env: { ...this.env, ...env } });
    this.#running.push(running);
    return running;
  }

  /** Runs `paddlet <args>` to its end. */
  paddlet(...args: string[]): Promise<Ended> {
    return this.start(args.join(' '), args).ended;
  }

  /** The JSON object that `paddlet <args> --json` prints: it must be as its schema says, and the exit code 0. */
  async json(...args: string[]): Promise<unknown> {
    const { code, out, err } = await this.paddlet(...args, '--json');
    if (code !== 0) throw new Error(`paddlet ${args.join(' ')}: exit code ${code}\n${out}${err}`);
    checkPrinted([...args, '--json'], { code, out, err });
    return JSON.parse(out) as unknown;
  }

  /** Pids of all processes started here that still live. */
  alive(): number[] {
    return startedUnder(`${MARK}=${this.#mark}`);
  }

  /** What the processes said, and the log files in the folder. */
  logs(): string {
    const own = this.#running.map(({ name, out, err }) => [name, `${out}${err}`] as const);
    const files = existsSync(this.folder)
      ? readdirSync(this.folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.log(\.\w+)?$/.test(name))
      : [];
    const written = files.map((name) => [name, readFileSync(this.path(name), 'utf8')] as const);
    return [...own, ...written]
      .map(
        ([name, text]) => `--- ${name}\n${text.length > SHOWN_CHARACTERS ? '…' : ''}${text.slice(-SHOWN_CHARACTERS)}`,
      )
      .join('\n');
  }

  async clear(): Promise<void> {
    this.#kill();
    await Promise.allSettled(this.#running.map(({ ended }) => ended));
    // A process that was just being started by another one.
    this.#kill();
    rmSync(this.folder, { recursive: true, force: true });
    process.off('exit', this.#sweepAtExit);
  }

  #kill(): void {
    for (let alive = this.alive(); alive.length > 0; alive = this.alive()) {
      for (const pid of alive) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
      }
    }
  }
}

/** A place for the running test; cleared when it is over. */
export function openPlace(): Place {
  const place = new Place();
  // Hooks run in reverse order: the logs are printed before the folder is gone.
  onTestFinished(() => place.clear());
  onTestFailed(() => {
    process.stderr.write(`\n${place.logs()}\n`);
  });
  return place;
}

/** The result that a process printed as its last line; it must have ended with 0. */
export async function resultOf(running: Running): Promise<JobResult> {
  const { code, signal, out } = await running.ended;
  if (code !== 0) throw new Error(`${running.name} ended with ${signal ?? `exit code ${code}`}`);
  return jobResultSchema.parse(JSON.parse(out.trimEnd().split('\n').at(-1) ?? ''));
}

/**
 * As `resultOf`, of a process whose work another one does: throws when that one ends before the job has, with how it
 * ended and the last thing it said.
 */
export function resultByWorkOf(worker: Running, running: Running, isOver: () => Promise<boolean>): Promise<JobResult> {
  const worked = async (): Promise<JobResult> => {
    const { code, signal, out, err } = await worker.ended;
    if (code === 0 && (await isOver())) return resultOf(running);
    throw new Error(
      `${worker.name} ended early (${signal ?? `exit code ${code}`}):\n${`${out}${err}`.slice(-SHOWN_CHARACTERS)}`,
    );
  };
  return Promise.race([resultOf(running), worked()]);
}

/** All end with exit code 0; else it says who did not, and the last thing it said. */
export async function endWell(roles: readonly Running[]): Promise<void> {
  for (const { name, ended } of roles) {
    const { code, signal, err } = await ended;
    const said = code === 0 ? '' : err.slice(-1_000);
    expect({ name, code, signal, said }).toEqual({ name, code: 0, signal: null, said: '' });
  }
}
