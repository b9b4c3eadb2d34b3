/** How large the model is, as its pservers say. */

import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import { askInfoAt } from '../../view/ask-info.ts';

/** Less than the shortest time for which a trainer is chosen to write the model. */
const ANSWER_WITHIN_MS = 30_000;

/**
 * Bytes of all parameters with their optimizer state and indexes. A pserver that does not answer counts as the largest
 * of the others; 0 when none answers: then nothing can be read from them either.
 */
export async function measureModel(network: Network, view: Pick<PlacementView, 'current'>): Promise<number> {
  const pservers = view.current()?.pservers ?? [];
  const sizes = await Promise.all(pservers.map(({ address }) => sizeOf(network, address)));
  const largest = Math.max(0, ...sizes.map((size) => size ?? 0));
  return sizes.reduce<number>((sum, size) => sum + (size ?? largest), 0);
}

async function sizeOf(network: Network, address: string): Promise<number | undefined> {
  const answer = await askInfoAt(network, address, ANSWER_WITHIN_MS);
  if (answer.kind !== 'info' || answer.info.role !== 'pserver' || answer.info.state !== 'working') return undefined;
  return answer.info.bytes;
}
