/**
 * A cluster started by hand: each role a process of the executable, started again when it ends, as docs/operations.md
 * tells a cluster manager to. How each process ended is held to what is documented.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../src/base/errors.ts';

export type RoleName = 'master' | 'pserver' | 'trainer';

export interface RoleSpec {
  readonly name: string;
  readonly role: RoleName;
  readonly args: readonly string[];
}

/** What was done to a process, so that its end can be judged. */
export type Ask = 'kill' | 'term' | 'wait for room';

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
  /** It ended with 0: the job is over for it. */
  isDone: boolean;
  starts: number;
}

export interface ClusterOptions {
  readonly paddlet: string;
  readonly folder: string;
  readonly logs: string;
  readonly storeUrl: string;
  readonly specs: readonly RoleSpec[];
  readonly restartAfterMs: () => number;
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
      starts: 0,
    }));
    process.once('exit', () => this.killAll());
  }

  start(): void {
    for (const slot of this.slots) this.#start(slot);
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
    const own = { PADDLET_STORE: storeUrl, PADDLET_EXPOSE_METRICS: 'true' };
    const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', ...own, ...passedOn() };
    const child = spawn(paddlet, args, { cwd: folder, env, stdio: ['ignore', out, err] });
    for (const fd of [out, err]) closeSync(fd);
    slot.starts += 1;
    this.#children.add(child);
    const ended = Promise.withResolvers<void>();
    const proc: Proc = { child, ended: ended.promise, asked: new Set(), isPaused: false, hasRival: false };
    slot.proc = proc;
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
      if (isCurrent) slot.isDone = true;
      if (this.slots.every(({ isDone }) => isDone)) this.#allDone.resolve();
      return;
    }
    this.#options.say(`${name} (pid ${proc.child.pid}) ended: ${how}`);
    if (proc.hasRival && code === EXIT.usage && this.#foundIndexTaken(slot)) {
      // Two for one index: the one that did not get it, or not back, had to give way.
      if (!isCurrent) return;
      slot.proc = slot.replaced;
      slot.replaced = undefined;
      if (slot.proc !== undefined) return;
    } else if (!isDocumented(role, proc.asked, code, signal)) {
      this.violation(`${name} ended against the documents: ${how}`);
    }
    if (isCurrent) this.#restart(slot);
  }

  #foundIndexTaken({ spec }: Slot): boolean {
    return readFileSync(`${this.#logFile(spec.name)}.log`, 'utf8').includes('error IndexTaken');
  }

  #logFile(name: string): string {
    return join(this.#options.logs, name.replace(' ', '-'));
  }

  #restart(slot: Slot): void {
    setTimeout(() => {
      if (!this.#isOver && slot.proc === undefined) this.#start(slot);
    }, this.#options.restartAfterMs());
  }

  #count(what: string): void {
    this.ends.set(what, (this.ends.get(what) ?? 0) + 1);
  }
}

/**
 * docs/operations.md, "Exit codes": a master and a pserver end with 5 when their lease was lost, a trainer never does.
 * A pserver that was asked to leave waits for room for its checkpoint, but not for ever: then it ends with 7.
 */
function isDocumented(
  role: RoleName,
  asked: ReadonlySet<Ask>,
  code: number | null,
  signal: NodeJS.Signals | null,
): boolean {
  if (signal === 'SIGKILL') return asked.has('kill');
  if (code === EXIT.interrupted || signal === 'SIGTERM') return asked.has('term');
  if (code === EXIT.parametersLost) return role === 'pserver' && asked.has('term') && asked.has('wait for room');
  return code === EXIT.leaseLost && role !== 'trainer';
}

const passedOn = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('PADDLET_LOG')));
