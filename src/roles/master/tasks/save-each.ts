/** Has each pserver save by itself, and waits for it. */
import { backoffMs } from '../../../base/backoff.ts';
import type { KeptFile } from '../../../checkpoint/registry/kept-key.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';
import type { TrainingOptions } from '../training.ts';

/** A checkpoint of many gigabytes takes its time. */
const CHECKPOINT_TIMEOUT_MS = 3_600_000;

/** What each of them has now, whatever it was saving already. */
export async function saveNow(
  { group, context }: Pick<TrainingOptions, 'group' | 'context'>,
  pservers: readonly PlacedPserver[],
  signal: AbortSignal,
): Promise<KeptFile[]> {
  const saving = pservers
    .filter(({ units }) => units.length > 0)
    .map(async (pserver): Promise<KeptFile> => {
      for (let tries = 0; ; tries++) {
        const reply = await group.ask(pserver, 'checkpoint', { final: false }, [], CHECKPOINT_TIMEOUT_MS);
        reply.free();
        const { saved } = reply.header;
        if (saved !== undefined) return { index: pserver.index, uuid: saved.uuid };
        await pauseOrAborted(context.host.clock, backoffMs(tries), signal);
      }
    });
  return allSettledOrThrow(saving);
}

/** One that is saving already ignores the request. */
export async function saveEach(group: Pick<PserverGroup, 'ask'>, pservers: readonly PlacedPserver[]): Promise<void> {
  const asked = pservers.map(async (pserver) => {
    const reply = await group.ask(pserver, 'checkpoint', { final: false }, [], CHECKPOINT_TIMEOUT_MS);
    reply.free();
  });
  await allSettledOrThrow(asked);
}
