/** Has each pserver save by itself, and waits for it. */
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';

/** A checkpoint of many gigabytes takes its time. */
const CHECKPOINT_TIMEOUT_MS = 3_600_000;

/** One that is saving already ignores the request. */
export async function saveEach(group: Pick<PserverGroup, 'ask'>, pservers: readonly PlacedPserver[]): Promise<void> {
  const asked = pservers.map(async (pserver) => {
    const reply = await group.ask(pserver, 'checkpoint', { final: false }, [], CHECKPOINT_TIMEOUT_MS);
    reply.free();
  });
  await allSettledOrThrow(asked);
}
