/**
 * The limits in C, compiled for this machine when there is a compiler: one process that times what it is told to do.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** All vectors that this machine has; no flag that changes results. */
const FLAGS = ['-O3', '-march=native', '-fno-math-errno', '-ffp-contract=off'];

export interface Native {
  /** Milliseconds that one command took. */
  run(command: string): Promise<number>;
  close(): void;
}

export interface NativeOptions {
  readonly floats: number;
  readonly rows: number;
  readonly batch: number;
}

/** The binary of one of the programs in `native`, in `folder`; undefined without a C compiler. */
export function compileNative(program: 'loops' | 'models' | 'training', folder: string): string | undefined {
  const binary = join(folder, program);
  try {
    execFileSync('cc', [...FLAGS, '-o', binary, join(import.meta.dirname, `native/${program}.c`), '-lm']);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return binary;
}

/** The loops of optimizers and of the table. Undefined without a C compiler. */
export const startNative = ({ floats, rows, batch }: NativeOptions): Native | undefined =>
  start('loops', [`${floats}`, `${rows}`, `${batch}`]);

/** The loops of the models over the batches in a file. Undefined without a C compiler. */
export const startNativeModels = (batches: string): Native | undefined => start('models', [batches]);

function start(program: 'loops' | 'models', args: readonly string[]): Native | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  let binary: string | undefined;
  try {
    binary = compileNative(program, folder);
  } finally {
    if (binary === undefined) rmSync(folder, { recursive: true });
  }
  if (binary === undefined) return undefined;
  const { run, close } = startPeer(binary, args);
  return {
    run,
    close() {
      close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A process that answers each line with milliseconds. */
export function startPeer(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Native {
  const peer = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: peer.stdout })[Symbol.asyncIterator]();
  return {
    async run(command) {
      peer.stdin.write(`${command}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error(`${program} ${args.join(' ')} ended`);
      return Number.parseFloat(value);
    },
    close: () => void peer.stdin.end(),
  };
}
