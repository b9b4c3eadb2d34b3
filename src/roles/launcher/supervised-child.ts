/** One process of the cluster: started again when it dies, until it has ended for good. */
import { EXIT } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { createRestartPolicy, type ProcessEnd, type RestartDecision } from '../../core/restart-policy.ts';

/** A running process. */
export interface ChildProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  kill(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): boolean;
}

export interface ChildSpec {
  /** `master`, `pserver 0`, …; also the name of its log. */
  readonly name: string;
  readonly role: 'master' | 'pserver' | 'trainer';
  readonly args: readonly string[];
}

/** `code` is that of the child that failed for good, `by` its name. */
export type LaunchEnd =
  | { readonly how: 'done' }
  | { readonly how: 'stopped' }
  | { readonly how: 'failed'; readonly code: number; readonly by: string };

/** `left`: it was no longer wanted. */
export type ChildEnd = LaunchEnd | { readonly how: 'left' };

export interface ChildOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly spawn: (spec: ChildSpec) => Promise<ChildProcess>;
  /** Why the whole run stops, once it does: then a process that ends is not started again. */
  readonly stopping: () => LaunchEnd | undefined;
}

/**
 * Signals say what is to happen to the work of the process. SIGINT: the whole job stops, so a pserver saves its units.
 * SIGTERM: this process alone leaves, so others take over what it has.
 */
export class SupervisedChild {
  readonly name: string;
  readonly role: ChildSpec['role'];
  readonly #options: ChildOptions;
  readonly #spec: ChildSpec;
  readonly #policy = createRestartPolicy();
  readonly #ended = Promise.withResolvers<ChildEnd>();
  #running: ChildProcess | undefined;
  /** While it is being started there is no process to signal yet. */
  #isStarting = false;
  /** What it was asked by. */
  #asked: 'SIGINT' | 'SIGTERM' | undefined;
  #isKilled = false;
  #isWanted = true;
  #cancelRestart: Cancel = () => {};

  constructor(options: ChildOptions, spec: ChildSpec) {
    this.name = spec.name;
    this.role = spec.role;
    this.#options = options;
    this.#spec = spec;
    void this.#start();
  }

  /** Resolves when it has ended for good. */
  get ended(): Promise<ChildEnd> {
    return this.#ended.promise;
  }

  /** Asks it to leave, as the whole job stops. */
  stop(): void {
    this.#ask('SIGINT', { how: 'stopped' });
  }

  /** Ends it at once. */
  kill(): void {
    this.#isKilled = true;
    this.#running?.kill('SIGKILL');
  }

  get isWanted(): boolean {
    return this.#isWanted;
  }

  /**
   * It is no longer wanted, and not started again. A pserver learns that from the store by itself, and stays if that is
   * taken back; a trainer is asked to leave.
   */
  retire(): void {
    this.#isWanted = false;
    if (this.role === 'trainer') this.#ask('SIGTERM', { how: 'left' });
    else if (this.#running === undefined && !this.#isStarting) {
      this.#cancelRestart();
      this.#ended.resolve({ how: 'left' });
    }
  }

  /** It is wanted again, unless it has been asked to leave. */
  keep(): void {
    if (this.#asked === undefined) this.#isWanted = true;
  }

  #ask(signal: 'SIGINT' | 'SIGTERM', end: ChildEnd): void {
    // A second SIGTERM would end it at once.
    if (this.#asked === signal) return;
    this.#asked = signal;
    this.#cancelRestart();
    if (this.#running !== undefined) this.#running.kill(signal);
    else if (!this.#isStarting) this.#ended.resolve(end);
  }

  async #start(): Promise<void> {
    const { clock, log, spawn } = this.#options;
    const startedMs = clock.monotonicMs();
    this.#isStarting = true;
    try {
      this.#running = await spawn(this.#spec);
    } catch (error) {
      log.error(`${this.name} cannot be started: ${(error as Error).message}`);
      this.#decide(this.#policy.notStarted(), 'was not started');
      return;
    } finally {
      this.#isStarting = false;
    }
    // The run was stopped while this process was being started.
    if (this.#isKilled) this.#running.kill('SIGKILL');
    else if (this.#asked !== undefined) this.#running.kill(this.#asked);
    const end = await this.#running.ended;
    this.#running = undefined;
    this.#judge(end, clock.monotonicMs() - startedMs);
  }

  #judge(end: ProcessEnd, livedMs: number): void {
    const how = end.signal ?? `exit code ${end.code}`;
    const run = this.#options.stopping();
    if (run !== undefined && !this.#isKilled && !isCleanEnd(end, run))
      this.#options.log.warn(`${this.name} could not stop cleanly (${how})`);
    this.#decide(this.#policy.ended(end, livedMs), `ended (${how})`);
  }

  #decide(verdict: RestartDecision, what: string): void {
    const { clock, log, stopping } = this.#options;
    if (stopping() !== undefined) this.#ended.resolve({ how: 'stopped' });
    else if (!this.#isWanted) this.#ended.resolve({ how: 'left' });
    else if (verdict.act === 'stopped') this.#ended.resolve({ how: 'stopped' });
    else if (verdict.act === 'done') this.#ended.resolve({ how: 'done' });
    else if (verdict.act === 'giveUp') this.#ended.resolve({ how: 'failed', code: verdict.code, by: this.name });
    else {
      log.warn(`${this.name} ${what}; restarting it in ${verdict.afterMs} ms`);
      this.#cancelRestart = clock.after(verdict.afterMs, () => void this.#start());
    }
  }
}

/**
 * All processes end with the code of the failure that ends the job. One that a signal ends had not started its work.
 */
function isCleanEnd({ code, signal }: ProcessEnd, run: LaunchEnd): boolean {
  const isOfJob = run.how === 'failed' && run.code === code;
  const isAsked = signal === 'SIGINT' || signal === 'SIGTERM';
  return isOfJob || isAsked || code === EXIT.done || code === EXIT.interrupted;
}
