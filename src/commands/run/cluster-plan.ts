/** The processes of `paddlet run`. */
import type { ChildSpec } from '../../roles/launcher/supervised-child.ts';
import type { Sizes } from '../../roles/launcher/wanted-sizes.ts';

export function clusterPlan(
  sizes: Sizes,
  args: { master: readonly string[]; pserver: readonly string[]; trainer: readonly string[] },
): ChildSpec[] {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  return [
    { name: 'master', role: 'master', args: args.master },
    ...numbers(sizes.pservers).map(
      (index): ChildSpec => ({
        name: `pserver ${index}`,
        role: 'pserver',
        args: [...args.pserver, '--index', String(index)],
      }),
    ),
    ...numbers(sizes.trainers).map(
      (number): ChildSpec => ({ name: `trainer ${number}`, role: 'trainer', args: args.trainer }),
    ),
  ];
}
