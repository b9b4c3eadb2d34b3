/**
 * `paddlet run`: every role of the cluster as a process of its own, restarted when it dies, stopped in an order that
 * loses nothing: trainers first, then pservers, which save their parameters, then the master.
 */
import { logWaiting } from '../../cluster/waiting.ts';
import {
  type ChildOptions,
  type ChildSpec,
  type LaunchEnd,
  type SupervisedChild,
  superviseChild,
} from './supervised-child.ts';

const SAY_AFTER_MS = 2_000;

export interface LauncherOptions extends Omit<ChildOptions, 'stopping'> {
  readonly children: readonly ChildSpec[];
  /** Aborts when the user wants to stop. */
  readonly stop: AbortSignal;
  /** How long a stop may take; a process that takes longer is killed. */
  readonly stopLimitMs: number;
}

/**
 * Each group ends within its part of the limit: a full disk or a store that does not answer may keep the trainers
 * waiting, and the pservers still need the time to save.
 */
const STOP_ORDER = [
  { role: 'trainer', untilPart: 1 / 4 },
  { role: 'pserver', untilPart: 3 / 4 },
  { role: 'master', untilPart: 1 },
] as const;

/** Resolves when every process has ended. The first one that is stopped or fails for good stops the others. */
export async function launch(options: LauncherOptions): Promise<LaunchEnd> {
  const { stop, clock, log, stopLimitMs } = options;
  if (stop.aborted) return { how: 'stopped' };
  let stopping: LaunchEnd | undefined;
  const children = options.children.map((spec) => superviseChild({ ...options, stopping: () => stopping }, spec));

  /** Asks all to leave, group by group; each group has gone before the next is asked. */
  async function stopAll(how: LaunchEnd): Promise<void> {
    if (stopping !== undefined) return;
    stopping = how;
    const startedMs = clock.monotonicMs();
    for (const { role, untilPart } of STOP_ORDER) {
      const group = children.filter((child) => child.role === role);
      for (const child of group) child.stop();
      await endedWithin(options, group, startedMs + stopLimitMs * untilPart - clock.monotonicMs());
    }
  }

  const onStop = (): void => {
    log.info(`stopping, for at most ${stopLimitMs / 1000} s: trainers return their work, then pservers save`);
    void stopAll({ how: 'stopped' });
  };
  stop.addEventListener('abort', onStop, { once: true });
  for (const { ended } of children) {
    void ended.then((end) => (end.how === 'done' ? undefined : stopAll(end)));
  }
  await Promise.all(children.map(({ ended }) => ended));
  stop.removeEventListener('abort', onStop);
  return stopping ?? { how: 'done' };
}

/** Waits until all have ended, and logs whom for; kills those that take longer than `limitMs`. */
async function endedWithin(
  { clock, log }: Pick<LauncherOptions, 'clock' | 'log'>,
  group: readonly SupervisedChild[],
  limitMs: number,
): Promise<void> {
  const alive = new Set(group);
  const namesOf = (): string => [...alive].map(({ name }) => name).join(', ');
  const cancelLog = logWaiting(
    clock,
    log,
    () => `${namesOf()} to stop; Ctrl-C again kills all processes`,
    SAY_AFTER_MS,
  );
  const cancelKill = clock.after(limitMs, () => {
    log.error(`${namesOf()} did not stop in time, killed: what is not in a checkpoint is computed again`, {
      hint: 'see the warnings above; for models that take long to save raise --stop-timeout',
    });
    for (const child of alive) child.kill();
  });
  await Promise.all(group.map((child) => child.ended.then(() => alive.delete(child))));
  cancelLog();
  cancelKill();
}
