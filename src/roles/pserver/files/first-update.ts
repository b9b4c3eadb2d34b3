/** The loaded file stops being the last state with the first update: the store is told before the update is applied. */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { markOpened } from '../../../checkpoint/registry/publish.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { Fence } from '../../../store/fence.ts';
import { storeWaitLogger } from '../../../store/retry-until-answered.ts';

export interface FirstUpdateOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly index: number;
  readonly onFatal: (error: unknown) => void;
}

/**
 * `isClean`: a file was loaded that is marked as the last state. The function returned marks it as opened when it is
 * first called; it gives undefined once that is done. It rejects with `Suspended` when the index is lost.
 */
export function beforeUpdates(options: FirstUpdateOptions, isClean: boolean): () => Promise<void> | undefined {
  const { context, fence, index, onFatal } = options;
  const { store, keys, host } = context;
  let isOpened = !isClean;
  let opening: Promise<void> | undefined;
  return () => {
    if (isOpened) return undefined;
    opening ??= markOpened({
      store,
      clock: host.clock,
      onWaiting: storeWaitLogger({ ...host, store }),
      fence,
      key: keys.checkpoint(index),
    }).then(
      () => {
        failPoint('pserver.opened');
        isOpened = true;
      },
      (error: unknown) => {
        onFatal(error);
        // Fatal to this process only: the trainer retries and finds the next owner of the index.
        if (isPaddletError(error)) throw new PaddletError('Suspended', error.message, { cause: error });
        throw error;
      },
    );
    return opening;
  };
}
