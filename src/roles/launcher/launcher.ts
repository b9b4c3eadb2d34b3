/**
 * `paddlet run`: every role of the cluster as a process of its own, started again when it dies, stopped in an order that
 * loses nothing: trainers first, then pservers, which write their parameters down, then the master.
 */
import { EXIT } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { createRestartPolicy, type ProcessEnd, type RestartPolicy } from '../../core/restart-policy.ts';

/** A running child. */
export interface ChildProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  kill(signal: 'SIGTERM'): boolean;
}

export interface ChildSpec {
  /** `master`, `pserver 0`, …; also the name of its log. */
  readonly name: string;
  readonly role: 'master' | 'pserver' | 'trainer';
  readonly args: readonly string[];
}

export interface LauncherOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly children: readonly ChildSpec[];
  readonly spawn: (spec: ChildSpec) => Promise<ChildProcess>;
  /** Aborts when the user wants to stop. */
  readonly stop: AbortSignal;
}

/** `code` is that of the child that could not go on, `by` its name. */
export type LaunchEnd =
  | { readonly how: 'done' }
  | { readonly how: 'stopped' }
  | { readonly how: 'failed'; readonly code: number; readonly by: string };

export interface Launcher {
  readonly ended: Promise<LaunchEnd>;
  /** Restarts so far. */
  restarts(): number;
}

interface Child {
  readonly spec: ChildSpec;
  readonly policy: RestartPolicy;
  running: ChildProcess | undefined;
  /** While it is being started: a process that nobody can signal yet. */
  starting: Promise<ChildProcess> | undefined;
  finished: boolean;
  /** To leave. */
  asked: boolean;
  cancelRestart: Cancel;
}

const STOP_ORDER = ['trainer', 'pserver', 'master'] as const;

export function launch(options: LauncherOptions): Launcher {
  const { clock, log, stop } = options;
  const children = options.children.map(
    (spec): Child => ({
      spec,
      policy: createRestartPolicy(),
      running: undefined,
      starting: undefined,
      finished: false,
      asked: false,
      cancelRestart: () => {},
    }),
  );
  const ended = Promise.withResolvers<LaunchEnd>();
  let stopping = false;
  let outcome: LaunchEnd = { how: 'done' };
  let restarts = 0;

  async function start(child: Child): Promise<void> {
    const startedMs = clock.monotonicMs();
    child.starting = options.spawn(child.spec).then((running) => {
      child.running = running;
      // Its group was asked while it was being started.
      if (child.asked) running.kill('SIGTERM');
      return running;
    });
    const running = await child.starting.finally(() => {
      child.starting = undefined;
    });
    const end = await running.ended;
    child.running = undefined;
    judge(child, end, clock.monotonicMs() - startedMs);
  }

  function judge(child: Child, end: ProcessEnd, livedMs: number): void {
    const verdict = child.policy.ended(end, livedMs);
    const how = end.signal ?? `exit code ${end.code}`;
    if (stopping || verdict.act === 'done') finish(child);
    else if (verdict.act === 'restart') {
      restarts += 1;
      log.warn(`${child.spec.name} ended (${how}); starting it again in ${verdict.afterMs} ms`);
      child.cancelRestart = clock.after(verdict.afterMs, () => void begin(child));
    } else if (verdict.act === 'stopped') {
      finish(child);
      void windDown({ how: 'stopped' });
    } else {
      finish(child);
      void windDown({ how: 'failed', code: verdict.code, by: child.spec.name });
    }
  }

  function finish(child: Child): void {
    child.finished = true;
    if (children.every((other) => other.finished)) ended.resolve(outcome);
  }

  function begin(child: Child): Promise<void> {
    return start(child).catch((error: unknown) => {
      log.error(`${child.spec.name} cannot be started: ${(error as Error).message}`);
      finish(child);
      void windDown({ how: 'failed', code: EXIT.bug, by: child.spec.name });
    });
  }

  /** Asks all to leave, group by group; each group has gone before the next is asked. */
  async function windDown(how: LaunchEnd): Promise<void> {
    if (stopping) return;
    stopping = true;
    outcome = how;
    for (const role of STOP_ORDER) {
      const group = children.filter(({ spec }) => spec.role === role);
      for (const child of group) {
        child.asked = true;
        child.cancelRestart();
        if (child.running !== undefined) child.running.kill('SIGTERM');
        else if (child.starting === undefined) finish(child);
      }
      await Promise.all(group.map(gone));
    }
  }

  /** Resolves when the child has ended, or could not be started. */
  async function gone(child: Child): Promise<void> {
    const running = child.running ?? (await child.starting?.catch(() => undefined));
    await running?.ended;
  }

  if (stop.aborted) void windDown({ how: 'stopped' });
  else {
    stop.addEventListener('abort', () => void windDown({ how: 'stopped' }), { once: true });
    for (const child of children) void begin(child);
  }
  return { ended: ended.promise, restarts: () => restarts };
}
