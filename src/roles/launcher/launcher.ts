/**
 * `paddlet run`: every role of the cluster as a process of its own, restarted when it dies, stopped in an order that
 * loses nothing: trainers first, then pservers, which save their parameters, then the master.
 */
import { type ChildOptions, type ChildSpec, type LaunchEnd, superviseChild } from './supervised-child.ts';

export interface LauncherOptions extends Omit<ChildOptions, 'isStopping'> {
  readonly children: readonly ChildSpec[];
  /** Aborts when the user wants to stop. */
  readonly stop: AbortSignal;
}

const STOP_ORDER = ['trainer', 'pserver', 'master'] as const;

/** Resolves when every process has ended. The first one that is stopped or fails for good stops the others. */
export async function launch(options: LauncherOptions): Promise<LaunchEnd> {
  const { stop } = options;
  if (stop.aborted) return { how: 'stopped' };
  let outcome: LaunchEnd = { how: 'done' };
  let isStopping = false;
  const children = options.children.map((spec) => superviseChild({ ...options, isStopping: () => isStopping }, spec));

  /** Asks all to leave, group by group; each group has gone before the next is asked. */
  async function stopAll(how: LaunchEnd): Promise<void> {
    if (isStopping) return;
    isStopping = true;
    outcome = how;
    for (const role of STOP_ORDER) {
      const group = children.filter((child) => child.role === role);
      for (const child of group) child.stop();
      await Promise.all(group.map(({ ended }) => ended));
    }
  }

  const onStop = (): void => void stopAll({ how: 'stopped' });
  stop.addEventListener('abort', onStop, { once: true });
  for (const { ended } of children) {
    void ended.then((end) => (end.how === 'done' ? undefined : stopAll(end)));
  }
  await Promise.all(children.map(({ ended }) => ended));
  stop.removeEventListener('abort', onStop);
  return outcome;
}
