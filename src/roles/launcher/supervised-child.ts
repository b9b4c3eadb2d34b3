/** One process of the cluster: started again when it dies, until it has ended for good. */
import { EXIT } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { createRestartPolicy, type ProcessEnd, type RestartDecision } from '../../core/restart-policy.ts';

/** A running process. */
export interface ChildProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): boolean;
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

export interface ChildOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly spawn: (spec: ChildSpec) => Promise<ChildProcess>;
  /** Why the whole run stops, once it does: then a process that ends is not started again. */
  readonly stopping: () => LaunchEnd | undefined;
}

export interface SupervisedChild {
  readonly name: string;
  readonly role: ChildSpec['role'];
  /** Resolves when it has ended for good. */
  readonly ended: Promise<LaunchEnd>;
  /** Asks it to leave. */
  stop(): void;
  /** Ends it at once. */
  kill(): void;
}

export function superviseChild(options: ChildOptions, spec: ChildSpec): SupervisedChild {
  const { clock, log, spawn, stopping } = options;
  const { name, role } = spec;
  const policy = createRestartPolicy();
  const ended = Promise.withResolvers<LaunchEnd>();
  let running: ChildProcess | undefined;
  /** While it is being started there is no process to signal yet. */
  let isStarting = false;
  let isAsked = false;
  let isKilled = false;
  let cancelRestart: Cancel = () => {};

  async function start(): Promise<void> {
    const startedMs = clock.monotonicMs();
    isStarting = true;
    try {
      running = await spawn(spec);
    } catch (error) {
      log.error(`${name} cannot be started: ${(error as Error).message}`);
      decide(policy.notStarted(), 'was not started');
      return;
    } finally {
      isStarting = false;
    }
    // The run was stopped while this process was being started.
    if (isKilled) running.kill('SIGKILL');
    else if (isAsked) running.kill('SIGTERM');
    const end = await running.ended;
    running = undefined;
    judge(end, clock.monotonicMs() - startedMs);
  }

  function judge(end: ProcessEnd, livedMs: number): void {
    const how = end.signal ?? `exit code ${end.code}`;
    const run = stopping();
    if (run !== undefined && !isKilled && !isCleanEnd(end, run)) log.warn(`${name} could not stop cleanly (${how})`);
    decide(policy.ended(end, livedMs), `ended (${how})`);
  }

  function decide(verdict: RestartDecision, what: string): void {
    if (stopping() !== undefined || verdict.act === 'stopped') ended.resolve({ how: 'stopped' });
    else if (verdict.act === 'done') ended.resolve({ how: 'done' });
    else if (verdict.act === 'giveUp') ended.resolve({ how: 'failed', code: verdict.code, by: name });
    else {
      log.warn(`${name} ${what}; restarting it in ${verdict.afterMs} ms`);
      cancelRestart = clock.after(verdict.afterMs, () => void start());
    }
  }

  void start();
  return {
    name,
    role,
    ended: ended.promise,
    kill() {
      isKilled = true;
      running?.kill('SIGKILL');
    },
    stop() {
      isAsked = true;
      cancelRestart();
      if (running !== undefined) running.kill('SIGTERM');
      else if (!isStarting) ended.resolve({ how: 'stopped' });
    },
  };
}

/** All processes end with the code of the failure that ends the job. One that SIGTERM ends had not begun its work. */
function isCleanEnd({ code, signal }: ProcessEnd, run: LaunchEnd): boolean {
  const isOfJob = run.how === 'failed' && run.code === code;
  return isOfJob || code === EXIT.done || code === EXIT.interrupted || signal === 'SIGTERM';
}
