/** The executable that is measured: commands that end, and a run that is looked at. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

export interface Result {
  readonly recordsPerSecond: number;
  readonly elapsedSeconds: number;
  readonly records: { readonly applied: number; readonly lost: number };
  readonly metrics: { readonly train?: { readonly logloss?: number } };
}

export class Paddlet {
  readonly executable: string;
  readonly #folder: string;
  readonly #running = new Set<ChildProcess>();

  /** `folder`: what commands are run in. */
  constructor(executable: string, folder: string) {
    this.executable = resolve(executable);
    this.#folder = folder;
    process.once('exit', () => {
      for (const child of this.#running) child.kill('SIGTERM');
    });
  }

  /** What it prints; throws when it fails. */
  async call(...args: string[]): Promise<string> {
    return this.start(...args).out;
  }

  start(...args: string[]): { readonly pid: number; readonly out: Promise<string> } {
    const child = spawn(this.executable, args, { cwd: this.#folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#running.add(child);
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => {
        texts[name] += chunk.toString();
      });
    }
    const out = once(child, 'close').then(([code]) => {
      this.#running.delete(child);
      if (code === 0) return texts.stdout;
      throw new Error(`paddlet ${args.join(' ')} ended with ${code}: ${texts.stdout}${texts.stderr}`);
    });
    return { pid: child.pid!, out };
  }
}
