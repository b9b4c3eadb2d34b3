/** Processes of the built executable as a test sees them: what they said, how they ended, and events to wait for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ROOT } from '../source-files.ts';

/** Another build than this tree's can be named. */
export const PADDLET = process.env.PADDLET_TEST_EXECUTABLE ?? join(ROOT, 'dist/paddlet');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface StartOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

export class Running {
  readonly name: string;
  /** Settles when the process has ended and all it wrote is here. */
  readonly ended: Promise<Ended>;
  out = '';
  err = '';
  readonly #child: ChildProcess;
  #isOver = false;

  constructor(name: string, command: readonly string[], options: StartOptions) {
    const [file = '', ...args] = command;
    this.name = name;
    const child = spawn(file, args, { cwd: options.cwd, env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        this.#isOver = true;
        resolve({ code, signal, out: this.out, err: this.err });
      });
    });
    // The code that awaits it sees the error.
    this.ended.catch(() => {});
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error(`${this.name} was not started`);
    return pid;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The first match of `pattern` in what it logs on stderr; throws when it ends without having said so. */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.err);
      if (match !== null) return match;
      if (this.#isOver) throw new Error(`${this.name} ended and never said ${pattern}`);
      await Promise.race([once(this.#child.stderr!, 'data'), this.ended]);
    }
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.#child.kill(signal)) throw new Error(`${this.name} has ended already`);
  }
}

/** Pids of the processes whose environment has `entry`, that is, which were started under it. */
export function startedUnder(entry: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => proc(pid, 'environ')?.split('\0').includes(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

/** The command line of a process; undefined when it is gone. */
export function commandOf(pid: number): string[] | undefined {
  return proc(String(pid), 'cmdline')?.split('\0').slice(0, -1);
}

/** Undefined when the process is gone, or is another user's. */
function proc(pid: string, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Returns when all threads of the process have stopped (proc(5): the state follows the name in parentheses). It does
 * not hold the lock of a store in a file then: no process could write to it, and a test may continue only when one has.
 */
export async function freeze(pid: number, storeUrl: string): Promise<void> {
  const unlock = lockFile(storeUrl);
  try {
    process.kill(pid, 'SIGSTOP');
    const tasks = `/proc/${pid}/task`;
    while (!readdirSync(tasks).every((task) => /\) T /.test(readFileSync(join(tasks, task, 'stat'), 'utf8')))) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    unlock();
  }
}

const LOCK_WAIT_MS = 60_000;

/** Takes the write lock of a SQLite store; what gives it back. Other stores have none. */
function lockFile(storeUrl: string): () => void {
  const [kind, path] = storeUrl.split(/:(.*)/);
  if (kind !== 'sqlite') return () => {};
  const db = new DatabaseSync(path!, { timeout: LOCK_WAIT_MS });
  db.exec('BEGIN IMMEDIATE');
  return () => {
    db.exec('ROLLBACK');
    db.close();
  };
}
