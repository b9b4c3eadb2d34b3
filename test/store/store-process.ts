/**
 * A process of its own that uses a store, for tests that stop and kill. Run as a program it does what its arguments say
 * and prints a line for each thing that happens; imported, it starts and steers such a process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../src/base/seams.ts';
import { createClock } from '../../src/host/clock.ts';
import { type KeptLease, keepLease } from '../../src/store/lease-keeper.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { followSharedTime, type SharedTime } from './shared-time.ts';
import { put, SILENT, storyOf } from './support.ts';

const FILE = fileURLToPath(import.meta.url);

/**
 * `hold KEY TTL`: owns a key on a lease, says `held`, `suspended`, `resumed`, `lost`.
 * `watch PREFIX`: says `watching`, then each event. `write PREFIX`: says each number that was acknowledged.
 * `close PREFIX`: uses all that a store has, closes it, says `closed`, and has then nothing left to keep it alive.
 */
type Task = 'hold' | 'watch' | 'write' | 'close';

/** Instead of a time to start from. */
const REAL_TIME = 'real';
/** Begins the line by which a process says that it has done all that was due at a time. */
const PASSED = '@';

export class StoreProcess {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  #wake: (() => void)[] = [];
  #isOver = false;
  #isPaused = false;
  /** Of shared time: up to where it has done all. */
  #passedMs = 0;

  /** `time`: the machine's own when there is none. */
  constructor(url: string, task: Task, args: readonly string[], time?: SharedTime) {
    const start = time === undefined ? REAL_TIME : String(time.nowMs);
    this.#child = spawn(process.execPath, [FILE, start, url, task, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (time === undefined) this.#child.stdin!.end();
    else time.add(this);
    const lines = createInterface({ input: this.#child.stdout! });
    const wakeAll = (): void => {
      for (const wake of this.#wake.splice(0)) wake();
    };
    lines.on('line', (line) => {
      if (line.startsWith(PASSED)) this.#passedMs = Number(line.slice(PASSED.length));
      else this.lines.push(line);
      wakeAll();
    });
    lines.on('close', () => {
      this.#isOver = true;
      wakeAll();
    });
  }

  /** Waits for a line; fails when the process ends without it. */
  async until(line: string): Promise<void> {
    await this.#until(line, () => this.lines.includes(line));
  }

  /** Tells it the time; resolves when it has done all that was due. */
  async at(nowMs: number): Promise<void> {
    this.#child.stdin!.write(`${nowMs}\n`);
    await this.#until(`${PASSED}${nowMs}`, () => this.#passedMs >= nowMs);
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#isPaused = false;
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exit();
  }

  async exit(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    return this.#child.exitCode;
  }

  async #until(line: string, isSaid: () => boolean): Promise<void> {
    while (!isSaid()) {
      if (this.#isOver) throw new Error(`the process ended without saying ${line}: ${this.lines.join(', ')}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
async function hold(store: Store, clock: Clock, key: string, ttlMs: number): Promise<KeptLease> {
  const sentAtMs = clock.monotonicMs();
  const grant = await store.leaseGrant(ttlMs);
  await put(store, key, 'owner', grant.leaseId);
  const keeper = keepLease({
    ...{ store, clock, sentAtMs, ...grant },
    onSuspend: () => say('suspended'),
    onResume: () => say('resumed'),
    onLost: () => say('lost'),
  });
  say('held');
  return keeper;
}

async function watch(store: Store, prefix: string): Promise<void> {
  const { revision } = await store.identity();
  store.watch(prefix, revision + 1n, {
    onEvents: (events) => {
      for (const event of events) say(storyOf(event));
    },
    onEnd: (error) => say(`end: ${error.message}`),
  });
  say('watching');
}

async function write(store: Store, prefix: string): Promise<void> {
  for (let i = 0; ; i++) {
    await put(store, `${prefix}${i}`, `${i}`);
    say(`${i}`);
  }
}

async function close(store: Store, clock: Clock, prefix: string): Promise<void> {
  const keeper = await hold(store, clock, `${prefix}owner`, 60_000);
  store.watch(prefix, 1n, { onEvents: () => {}, onEnd: () => {} });
  // In flight when the store closes: its end is told, and holds nothing up.
  store.get(prefix).catch(() => say('refused'));
  keeper.stop();
  await store.close();
  say('closed');
}

async function main(start: string, url: string, task: Task, key: string, ttlMs: string): Promise<void> {
  const passed = (nowMs: number): void => say(`${PASSED}${nowMs}`);
  const clock = start === REAL_TIME ? createClock() : followSharedTime(Number(start), passed);
  const store = await openStore(url, { clock, log: SILENT });
  if (task === 'hold') await hold(store, clock, key, Number(ttlMs));
  else if (task === 'watch') await watch(store, key);
  else if (task === 'write') await write(store, key);
  else await close(store, clock, key);
}

if (process.argv[1] === FILE) {
  const [start, url, task, key, ttlMs] = process.argv.slice(2);
  await main(start!, url!, task as Task, key!, ttlMs ?? '0');
}
