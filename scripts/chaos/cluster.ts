/**
 * A cluster started by hand: each role a process of the executable, started again when it ends, as docs/operations.md
 * tells a cluster manager to. How each process ended is held to what is documented.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../src/base/errors.ts';
import { type Ask, isDocumented, type RoleName } from './ends.ts';

export interface RoleSpec {
  readonly name: string;
  readonly role: RoleName;
  readonly args: readonly string[];
}

interface Proc {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly asked: Set<Ask>;
  isPaused: boolean;
  /** Another process was started for its place while it lived: one of the two finds the index taken. */
  hasRival: boolean;
}

export interface Slot {
  readonly spec: RoleSpec;
  proc: Proc | undefined;
  /** Stopped, with another one started in its place. It may own the index or, like the other, wait for it. */
  replaced: Proc | undefined;
  /** It ended with 0: the job is over for it. Or the job does not want a pserver of this index, and none is there. */
  isDone: boolean;
  /** Whether the job wants it, and whether it did all the time since the last start. */
  isWanted: boolean;
  wasUnwanted: boolean;
  starts: number;
}

export interface ClusterOptions {
  readonly paddlet: string;
  readonly folder: string;
  readonly logs: string;
  readonly storeUrl: string;
  readonly specs: readonly RoleSpec[];
  readonly restartAfterMs: () => number;
  /** Pservers at the start, if not all of `specs`. */
  readonly pservers?: number;
  /** Whether a pserver that died and that the job does not want any more is left dead. */
  readonly leavesDead?: () => boolean;
  /** Fail points of a life that is about to start. */
  readonly failPoints?: (slot: Slot) => string | undefined;
  readonly say: (line: string) => void;
}

export class Cluster {
  readonly slots: readonly Slot[];
  /** Ends that are not documented. */
  readonly violations: string[] = [];
  /** Exit codes other than 0 and their number, by role. */
  readonly ends = new Map<string, number>();
  readonly #options: ClusterOptions;
  readonly #children = new Set<ChildProcess>();
  readonly #allDone = Promise.withResolvers<void>();
  #isOver = false;
  #canSave = true;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.slots = options.specs.map((spec) => ({
      spec,
      proc: undefined,
      replaced: undefined,
      isDone: false,
      isWanted: true,
      wasUnwanted: false,
      starts: 0,
    }));
    process.once('exit', () => this.killAll());
  }

  start(): void {
    const { pservers = this.#pservers.length } = this.#options;
    this.#pservers.slice(pservers).forEach((slot) => {
      slot.isWanted = false;
      slot.isDone = true;
    });
    for (const slot of this.slots) if (slot.isWanted) this.#start(slot);
  }

  /** The job wants so many pservers now: starts those that are missing, and none of the others once it has left. */
  want(pservers: number): void {
    this.#pservers.forEach((slot, index) => {
      slot.isWanted = index < pservers;
      if (!slot.isWanted) slot.wasUnwanted = true;
      else if (slot.isDone) this.#start(slot);
    });
  }

  get #pservers(): Slot[] {
    return this.slots.filter(({ spec }) => spec.role === 'pserver');
  }

  /** Resolves when every slot has ended with 0, or as soon as one ended against the documents. */
  get allDone(): Promise<void> {
    return this.#allDone.promise;
  }

  /** Processes of this role that run, and are neither paused nor being killed. */
  awake(role: RoleName): Slot[] {
    return this.slots.filter(
      ({ spec, proc }) => spec.role === role && proc !== undefined && !proc.isPaused && !proc.asked.has('kill'),
    );
  }

  kill(slot: Slot): void {
    this.#signal(slot.proc!, 'kill', 'SIGKILL');
  }

  term(slot: Slot): void {
    this.#signal(slot.proc!, 'term', 'SIGTERM');
  }

  /** The function returned wakes it. */
  pause(slot: Slot): () => void {
    const proc = slot.proc!;
    proc.isPaused = true;
    proc.child.kill('SIGSTOP');
    return () => {
      proc.isPaused = false;
      proc.child.kill('SIGCONT');
    };
  }

  /** Pauses it and starts another process in its place, which waits until the lease has run out. Once at a time. */
  replace(slot: Slot): () => void {
    const wake = this.pause(slot);
    slot.replaced = slot.proc;
    this.#start(slot);
    return wake;
  }

  /** Pservers that run now, or are started until the function returned is called, may find no room for a checkpoint. */
  preventSaves(): () => void {
    this.#canSave = false;
    for (const { spec, proc, replaced } of this.slots) {
      if (spec.role !== 'pserver') continue;
      for (const one of [proc, replaced]) one?.asked.add('wait for room');
    }
    return () => {
      this.#canSave = true;
    };
  }

  violation(what: string): void {
    this.violations.push(what);
    this.#allDone.resolve();
  }

  killAll(): void {
    this.#isOver = true;
    for (const child of this.#children) child.kill('SIGKILL');
  }

  #signal(proc: Proc, asked: Ask, signal: NodeJS.Signals): void {
    proc.asked.add(asked);
    proc.child.kill(signal);
  }

  #start(slot: Slot): void {
    const { paddlet, folder, storeUrl } = this.#options;
    const { name, args } = slot.spec;
    const file = this.#logFile(name);
    const [out, err] = [openSync(`${file}.out`, 'a'), openSync(`${file}.log`, 'a')];
    const fail = this.#options.failPoints?.(slot);
    const own = { PADDLET_STORE: storeUrl, PADDLET_EXPOSE_METRICS: 'true', ...(fail && { PADDLET_FAIL: fail }) };
    const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', ...own, ...passedOn() };
    const child = spawn(paddlet, args, { cwd: folder, env, stdio: ['ignore', out, err] });
    for (const fd of [out, err]) closeSync(fd);
    slot.starts += 1;
    slot.isDone = false;
    slot.wasUnwanted = !slot.isWanted;
    this.#children.add(child);
    const ended = Promise.withResolvers<void>();
    const proc: Proc = { child, ended: ended.promise, asked: new Set(), isPaused: false, hasRival: false };
    slot.proc = proc;
    if (fail?.includes(':kill') === true) proc.asked.add('die by itself');
    if (slot.spec.role === 'pserver' && !this.#canSave) proc.asked.add('wait for room');
    if (slot.replaced !== undefined) {
      slot.replaced.hasRival = true;
      proc.hasRival = true;
    }
    child.once('error', (error) => this.violation(`${name} could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      this.#children.delete(child);
      this.#judge(slot, proc, code, signal);
      ended.resolve();
    });
  }

  #judge(slot: Slot, proc: Proc, code: number | null, signal: NodeJS.Signals | null): void {
    const { name, role } = slot.spec;
    const isCurrent = slot.proc === proc;
    if (isCurrent) slot.proc = undefined;
    if (slot.replaced === proc) slot.replaced = undefined;
    if (this.#isOver) return;
    const how = signal ?? `exit code ${code}`;
    this.#count(`${role} ${how}`);
    if (code === EXIT.done) {
      if (isCurrent) this.#done(slot);
      return;
    }
    this.#options.say(`${name} (pid ${proc.child.pid}) ended: ${how}`);
    const isRefused = code === EXIT.usage && slot.wasUnwanted && this.#hasSaid(slot, REFUSED_INDEX);
    if (isRefused && !proc.hasRival) {
      this.#done(slot);
      return;
    }
    if (proc.hasRival && code === EXIT.usage && (isRefused || this.#hasSaid(slot, 'error IndexTaken'))) {
      // Two for one index: the one that did not get it, or not back, had to give way. Or the job wants neither.
      if (!isCurrent) return;
      slot.proc = slot.replaced;
      slot.replaced = undefined;
      if (slot.proc !== undefined) return;
    } else if (!isDocumented(role, proc.asked, code, signal)) {
      this.violation(`${name} ended against the documents: ${how}`);
    }
    if (isCurrent) this.#restart(slot);
  }

  /** It has left, or the job is over. */
  #done(slot: Slot): void {
    slot.isDone = true;
    // It left because it was not wanted, and is wanted again by now.
    if (slot.isWanted && slot.wasUnwanted) this.#restart(slot);
    if (this.slots.every(({ isDone }) => isDone)) this.#allDone.resolve();
  }

  #hasSaid({ spec }: Slot, what: string): boolean {
    return readFileSync(this.logOf(spec), 'utf8').includes(what);
  }

  /** What its lives have logged. */
  logOf({ name }: RoleSpec): string {
    return `${this.#logFile(name)}.log`;
  }

  #logFile(name: string): string {
    return join(this.#options.logs, name.replace(' ', '-'));
  }

  #restart(slot: Slot): void {
    if (!slot.isWanted && this.#options.leavesDead?.() === true) {
      this.#options.say(`${slot.spec.name} is not started again: the job does not want it`);
      this.#done(slot);
      return;
    }
    setTimeout(() => {
      if (!this.#isOver && slot.proc === undefined) this.#start(slot);
    }, this.#options.restartAfterMs());
  }

  #count(what: string): void {
    this.ends.set(what, (this.ends.get(what) ?? 0) + 1);
  }
}

/** A killed pserver that the job does not want any more, and of which nothing is left to hand over. */
export const REFUSED_INDEX = 'error Usage: --index ';

const passedOn = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('PADDLET_LOG')));
