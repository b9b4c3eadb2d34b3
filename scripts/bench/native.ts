/**
 * The limits in C, compiled for this machine when there is a compiler: one process that times what it is told to do.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** All vectors that this machine has; no flag that changes results. */
const FLAGS = ['-O3', '-march=native', '-fno-math-errno', '-ffp-contract=off'];

export interface Native {
  /** Milliseconds that one command took (native/loops.c). */
  run(command: string): Promise<number>;
  close(): void;
}

export interface NativeOptions {
  readonly floats: number;
  readonly rows: number;
  readonly batch: number;
}

/** Undefined without a C compiler. */
export function startNative({ floats, rows, batch }: NativeOptions): Native | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  const binary = join(folder, 'loops');
  let process: ChildProcessWithoutNullStreams;
  try {
    execFileSync('cc', [...FLAGS, '-o', binary, join(import.meta.dirname, 'native/loops.c'), '-lm']);
    process = spawn(binary, [`${floats}`, `${rows}`, `${batch}`]);
  } catch (error) {
    rmSync(folder, { recursive: true });
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const answers = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
  return {
    async run(command) {
      process.stdin.write(`${command}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error(`${binary} ended`);
      return Number(value);
    },
    close() {
      process.stdin.end();
      rmSync(folder, { recursive: true });
    },
  };
}
