/**
 * The loaded file stops being the last state with the first update: before that is applied, a change of the heads says
 * so to all who look for the last state.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { OwnedHeads } from '../held/owned-heads.ts';

export interface FirstUpdateOptions {
  readonly heads: Pick<OwnedHeads, 'areResting' | 'wake'>;
  /** Once the last state is being saved, nothing is applied any more. */
  readonly isFrozen: () => boolean;
  readonly onFatal: (error: unknown) => void;
}

/**
 * The function returned gives undefined when no head names a file as the last state. Otherwise it has the heads
 * changed; it rejects with `Suspended` when the index is lost.
 */
export function beforeUpdates({ heads, isFrozen, onFatal }: FirstUpdateOptions): () => Promise<void> | undefined {
  let waking: Promise<void> | undefined;
  const wake = async (): Promise<void> => {
    try {
      await heads.wake();
      failPoint('pserver.opened');
    } catch (error) {
      // Given up because the lease is lost, which is known already.
      if (!isPaddletError(error, 'Interrupted')) onFatal(error);
      // Fatal to this process only: the trainer retries and finds the next owner of the shards.
      if (isPaddletError(error)) throw new PaddletError('Suspended', error.message, { cause: error });
      throw error;
    } finally {
      waking = undefined;
    }
  };
  return () => {
    if (!heads.areResting || isFrozen()) return undefined;
    waking ??= wake();
    return waking;
  };
}
