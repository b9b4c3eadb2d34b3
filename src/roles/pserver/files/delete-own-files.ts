/**
 * Removes the files and keys of a pserver that the job no longer wants and that has handed over its units. The pserver
 * stays until other pservers have saved all state that only its files contain. Then it deletes its files and the keys
 * of its index. If it dies before, the master does this.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import { needText } from '../../../checkpoint/registry/needed.ts';
import { type Left, leaveNothing } from '../../../cluster/placement/leave-nothing.ts';
import { createSignal, type Signal, untilOrLate } from '../../../cluster/waiting.ts';
import { follow } from '../../../store/follow.ts';
import type { OwnedIndex } from '../claim/owned-index.ts';

/** Interval of retries, for files that the disk did not delete. Changes in the store are followed anyway. */
const RETRY_MS = 2_000;

/**
 * The caller must lead no unit and take none. Resolves to false if the signal aborts before the end: then the master
 * does the rest. Throws `LeaseGone` if another process has the index by now.
 */
export async function deleteOwnFiles(
  { context, fence, index }: Pick<OwnedIndex, 'context' | 'fence' | 'index'>,
  folder: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, log } = context.host;
  const { changed, version, cancel } = followFiles(context);
  let reported = '';
  try {
    for (;;) {
      const seen = version();
      const left = await leaveNothing({ context, fence, index, folder, signal });
      if (left === undefined) return true;
      const why = leftText(left);
      if (why !== reported) log.info(`staying until the job no longer needs this pserver: ${why}`);
      reported = why;
      await untilOrLate(changed, () => version() !== seen || undefined, { clock, maxWaitMs: RETRY_MS, signal });
    }
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    return false;
  } finally {
    cancel();
  }
}

function leftText(left: Left): string {
  if (left.type === 'leads') return `it leads units ${left.units.join(', ')}`;
  return left.type === 'again' ? left.why : needText(left);
}

interface Followed {
  readonly changed: Signal;
  readonly version: () => number;
  readonly cancel: Cancel;
}

function followFiles({ store, keys, host }: OwnedIndex['context']): Followed {
  const changed = createSignal();
  let version = 0;
  const onChange = (): void => {
    version += 1;
    changed.notify();
  };
  const onEnd = (error: Error): void => host.log.error(`watching ${keys.chroot}: ${error.message}`);
  const handlers = { onSnapshot: onChange, onEvents: onChange, onEnd };
  const cancels = [keys.checkpointsPrefix, keys.headsPrefix].map((prefix) =>
    follow(store, prefix, handlers, host.clock),
  );
  return {
    changed,
    version: () => version,
    cancel: () => {
      for (const cancel of cancels) cancel();
    },
  };
}
