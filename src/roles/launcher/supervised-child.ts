/** One process of the cluster: started again when it dies, until it has ended for good. */
import { EXIT } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { createRestartPolicy, type ProcessEnd } from '../../core/restart-policy.ts';

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
  /** True once the whole run stops: then a process that ends is not started again. */
  readonly isStopping: () => boolean;
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
  const { clock, log, spawn, isStopping } = options;
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
      judge({ code: EXIT.machine, signal: null }, 0);
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
    const verdict = policy.ended(end, livedMs);
    if (isStopping() && !isKilled && end.code !== EXIT.done && end.code !== EXIT.interrupted) {
      log.warn(`${name} could not stop cleanly (${end.signal ?? `exit code ${end.code}`})`);
    }
    if (isStopping() || verdict.act === 'stopped') ended.resolve({ how: 'stopped' });
    else if (verdict.act === 'done') ended.resolve({ how: 'done' });
    else if (verdict.act === 'giveUp') ended.resolve({ how: 'failed', code: verdict.code, by: name });
    else {
      log.warn(`${name} ended (${end.signal ?? `exit code ${end.code}`}); restarting it in ${verdict.afterMs} ms`);
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
