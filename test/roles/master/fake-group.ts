/** The pservers of a job, as the master asks them, without any. */
import type { PserverGroup } from '../../../src/cluster/client/pserver-group.ts';

/** Of two pservers that answer with these headers. */
export function groupThat(answer: (index: number, type: string) => object): PserverGroup {
  const placement = { pservers: [{ index: 0 }, { index: 1 }] };
  return {
    withPlacement: (_: string, attempt: (of: typeof placement) => unknown) => attempt(placement),
    ask: async ({ index }: { index: number }, type: string) => ({ free: () => {}, header: answer(index, type) }),
  } as unknown as PserverGroup;
}
