/**
 * Runs `paddlet` commands in this process, each with its own output. Those that run at once share folder, environment
 * and `process.argv`, since a process has one of each. What a command changes in the process is put back.
 * What it prints with `--json` is compared with its schema.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { format } from 'node:util';
import { vi } from 'vitest';
import { checkPrinted } from '../printed-json.ts';
import { bundledEntry } from './entry.ts';

/** Of real processes; commands in this one run from the sources. */
export const ENTRY = await bundledEntry();

/** For real processes: what Node compiled for one of them is not compiled again for the next. */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'paddlet-compiled') };

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  /** What it has written so far. */
  readonly said: { readonly out: string; readonly err: string };
  readonly ended: Promise<Ran>;
}

export interface Where {
  readonly cwd: string;
  /** The whole environment; default `COMPILED`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Is told of all text on stderr after each write to it. */
  readonly onErr?: (err: string) => void;
}

export const runCommand = (argv: readonly string[], where: Where): Promise<Ran> => startCommand(argv, where).ended;

export function startCommand(argv: readonly string[], { cwd, env = COMPILED, onErr }: Where): Running {
  const said = { out: '', err: '' };
  const stdout = taking((text) => {
    said.out += text;
  });
  const stderr = taking((text) => {
    said.err += text;
    onErr?.(said.err);
  });
  const putBack = enter(cwd, env, argv);
  const run = async (): Promise<Ran> => {
    try {
      // As late as the entry point does it: what is loaded looks at the environment.
      const { main } = await import('../../src/commands/main.ts');
      const ran = { code: await main(argv), ...said };
      checkPrinted(argv, ran);
      return ran;
    } finally {
      putBack();
    }
  };
  return { said, ended: outputs.run({ stdout, stderr }, run) };
}

const outputs = new AsyncLocalStorage<{ readonly stdout: Writable; readonly stderr: Writable }>();

const taking = (take: (text: string) => void): Writable =>
  new Writable({
    write(bytes, _encoding, done) {
      take(String(bytes));
      done();
    },
  });

let inside: { count: number; readonly place: string; readonly leave: () => void } | undefined;

/** The first that comes changes the process, the last that goes puts it back. */
function enter(cwd: string, env: Readonly<Record<string, string>>, argv: readonly string[]): () => void {
  const place = JSON.stringify([cwd, env]);
  inside ??= { count: 0, place, leave: change(cwd, env, argv) };
  const current = inside;
  if (current.place !== place) throw new Error(`a command runs in another place: ${current.place}, not ${place}`);
  current.count++;
  return () => {
    if (--current.count > 0) return;
    inside = undefined;
    current.leave();
  };
}

function change(cwd: string, env: Readonly<Record<string, string>>, argv: readonly string[]): () => void {
  const before = { cwd: process.cwd(), env: process.env, argv: process.argv, execArgv: process.execArgv };
  const listeners = new Map(EVENTS.map((event) => [event, process.listeners(event as 'exit')]));
  const streams = (['stdout', 'stderr'] as const).map((name) => {
    const real = Object.getOwnPropertyDescriptor(process, name)!;
    const stream = process[name];
    const get = (): unknown => outputs.getStore()?.[name] ?? stream;
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get });
    return () => Object.defineProperty(process, name, real);
  });
  // Oclif prints help with it; that of Vitest does not write to `process.stdout`.
  const log = vi
    .spyOn(console, 'log')
    .mockImplementation((...args) => void process.stdout.write(`${format(...args)}\n`));
  process.chdir(cwd);
  process.env = { ...env };
  Object.assign(process, { argv: [process.execPath, ENTRY, ...argv], execArgv: [] });
  return () => {
    process.chdir(before.cwd);
    process.env = before.env;
    Object.assign(process, { argv: before.argv, execArgv: before.execArgv });
    log.mockRestore();
    for (const putBack of streams) putBack();
    for (const [event, kept] of listeners)
      for (const one of process.listeners(event as 'exit')) if (!kept.includes(one)) process.off(event, one);
  };
}

const EVENTS = ['uncaughtException', 'warning', 'SIGINT', 'SIGTERM', 'SIGHUP'];
