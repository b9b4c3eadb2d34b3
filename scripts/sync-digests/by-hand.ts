/** A cluster of processes that something is done to. */
import { join } from 'node:path';
import { Cluster, type RoleSpec } from '../chaos/cluster.ts';
import type { RoleName } from '../chaos/ends.ts';
import type { Scene } from './scene.ts';

/** Processes by hand, started again whenever they end; `act` does things to them until the job has ended. */
export async function byHand(
  scene: Scene,
  options: { trainers: number; pservers: number; masters: number; restartAfterMs: () => number },
  act: (cluster: Cluster, isOver: () => boolean) => Promise<void>,
): Promise<void> {
  const { paddlet, folder } = scene.options;
  const many = (role: RoleName, count: number, args: (i: number) => string[]): RoleSpec[] =>
    Array.from({ length: count }, (_, i) => ({ name: `${role} ${i}`, role, args: [role, ...args(i)] }));
  const cluster = new Cluster({
    paddlet,
    folder,
    logs: join(folder, 'logs'),
    storeUrl: scene.storeUrl,
    specs: [
      ...many('master', options.masters, () => [scene.jobFile, ...scene.dataFlags]),
      ...many('pserver', options.pservers, (i) => ['--index', String(i), '--dir', 'roles']),
      ...many('trainer', options.trainers, () => scene.dataFlags),
    ],
    restartAfterMs: options.restartAfterMs,
    say: () => {},
  });
  let isOver = false;
  const done = cluster.allDone.then(() => {
    isOver = true;
  });
  const aborted = new Promise<never>((_, reject) => {
    scene.options.signal.addEventListener('abort', () => reject(new Error('it took too long')));
  });
  try {
    cluster.start();
    await Promise.race([Promise.all([done, act(cluster, () => isOver)]), aborted]);
    if (cluster.violations.length > 0) throw new Error(cluster.violations.join('; '));
  } finally {
    isOver = true;
    cluster.killAll();
  }
}
