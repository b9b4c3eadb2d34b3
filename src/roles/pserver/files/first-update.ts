/**
 * Changes the heads before the first update: once it is applied, the loaded file is no longer the last state. The heads
 * must show this to all processes that look for the last state.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { OwnedHeads } from '../held/owned-heads.ts';

export interface FirstUpdateOptions {
  readonly heads: Pick<OwnedHeads, 'areResting' | 'wake'>;
  /** Whether this pserver no longer applies updates, because it saves its last state. */
  readonly isFrozen: () => boolean;
  readonly onFatal: (error: unknown) => void;
}

/**
 * The returned function gives undefined if no head names a file as the last state. Otherwise it changes the heads, and
 * rejects with `Suspended` if this pserver has lost its index.
 */
export function beforeUpdates({ heads, isFrozen, onFatal }: FirstUpdateOptions): () => Promise<void> | undefined {
  let waking: Promise<void> | undefined;
  const wake = async (): Promise<void> => {
    try {
      await heads.wake();
      failPoint('pserver.opened');
    } catch (error) {
      // The lease is lost, which other code handles.
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
