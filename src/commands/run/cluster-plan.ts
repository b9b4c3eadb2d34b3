/** The processes of `paddlet run`. */
import type { Job } from '../../job/schema.ts';
import type { ChildSpec } from '../../roles/launcher/supervised-child.ts';

export function clusterPlan(
  cluster: Pick<Job['cluster'], 'pservers' | 'trainers'>,
  args: { master: readonly string[]; pserver: readonly string[]; trainer: readonly string[] },
): ChildSpec[] {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  return [
    { name: 'master', role: 'master', args: args.master },
    ...numbers(cluster.pservers).map(
      (index): ChildSpec => ({
        name: `pserver ${index}`,
        role: 'pserver',
        args: [...args.pserver, '--index', String(index)],
      }),
    ),
    ...numbers(cluster.trainers).map(
      (number): ChildSpec => ({ name: `trainer ${number}`, role: 'trainer', args: args.trainer }),
    ),
  ];
}
