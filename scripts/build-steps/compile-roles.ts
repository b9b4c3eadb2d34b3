/**
 * Compiles the bundle by training a small job, once for each process of the cluster: a process loads the code that it
 * runs, and no other.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ENGINE_OPTIONS } from './engine-options.ts';

const COMPILE = join(import.meta.dirname, 'compile.cjs');
/** Many times what it takes. */
const LIMIT_MS = 300_000;

const JOB = `
name: small
data:
  format: csv
  train: small.csv
  recordsPerTask: 100
  split: { test: 0.2 }
  columns: { number: number, text: category, label: label }
model: { type: lr }
optimizer: { type: adagrad, learningRate: 0.05 }
training: { mode: async, passes: 2, batchSize: 32, seed: 1 }
cluster: { pservers: 1, trainers: 1 }
`;
const RECORDS = Array.from({ length: 400 }, (_, number) => `${number},${number % 7},${number % 2}`);
const STORE = '--store sqlite:store.db';

/** What start.cjs chooses from, with the commands that are run to compile each. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  'compiled-master': [`master small.yaml ${STORE}`],
  'compiled-pserver': [`pserver small ${STORE}`],
  'compiled-trainer': [`trainer small ${STORE}`],
  /** `run` without its children; the help of `status` loads all of its code, and most of its time is the start. */
  'compiled-other': ['run small.yaml --dry-run', 'run --help', 'status --help'],
};
export const COMPILED: readonly string[] = Object.keys(COMMANDS);

/** Writes a file of each name into `folder`. */
export async function compileRoles(node: string, bundle: string, folder: string): Promise<void> {
  await writeFile(join(folder, 'small.yaml'), JOB);
  await writeFile(join(folder, 'small.csv'), ['number,text,label', ...RECORDS, ''].join('\n'));
  const compile = async (name: string): Promise<void> => {
    // With the options of the executable: V8 refuses what was compiled under others.
    const words = [...ENGINE_OPTIONS, COMPILE, bundle, join(folder, name), ...COMMANDS[name]!];
    await promisify(execFile)(node, words, { cwd: folder, env: {}, timeout: LIMIT_MS });
  };
  await Promise.all(COMPILED.map(compile));
}
