/** Puts `/stop` once, for the job as it runs now. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Log } from '../../base/seams.ts';
import { parseJobRecord } from '../../cluster/job/job-record.ts';
import type { Keys } from '../../store/keys.ts';
import { settle } from '../../store/retry-transaction.ts';
import { type RetryOptions, retryUntilAnswered, storeWaitLogger } from '../../store/retry-until-answered.ts';
import type { Compare, KeyValue, Store } from '../../store/store.ts';

/**
 * Returns when the store has the request; retries while the store is unreachable. An abandoned try can land later, but
 * not in a job that was started again since: that one has another master, or none yet, and then the request of a later
 * try. Throws `JobUnknown` if the job was deleted, `StoreUnknownOutcome` when its master changed before the store said
 * whether it took the request, `Interrupted` when aborted.
 */
export async function requestStop(
  ask: RetryOptions & { readonly store: Store },
  keys: Keys,
  job: KeyValue,
): Promise<void> {
  const { store, clock } = ask;
  const value = JSON.stringify({ requested: clock.wallSeconds() });
  const waiting = storeWaitLogger(ask);
  let isDoubtful = false;
  for (;;) {
    const unchanged = await retryUntilAnswered(ask, () => readUnchanged(store, keys, job));
    const { succeeded } = await settle({
      ...ask,
      run: () => store.txn({ if: unchanged, then: [{ put: keys.stop, value }] }),
      happened: async () => (await store.get(keys.stop))?.value === value,
      onWaiting: (error) => {
        isDoubtful ||= error.code === 'StoreUnknownOutcome';
        waiting(error);
      },
    });
    if (succeeded) return;
    // Asking again might stop a job that stopped by the first request and was started since.
    if (isDoubtful) throw unknownOutcome(keys);
  }
}

/** Warns when no role can take part in the job: then there may be nothing to stop, and a start cannot resume it. */
export function warnUnreadable(log: Log, { key, value }: KeyValue): void {
  try {
    parseJobRecord(key, value);
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    log.warn(`asked the job to stop, but this paddlet cannot read the job: ${error.message}`, {
      hint: error.hint ?? 'processes of another version may run the job; `paddlet run --fresh` deletes it',
    });
  }
}

async function readUnchanged(store: Store, keys: Keys, job: KeyValue): Promise<Compare[]> {
  const { results } = await store.txn({
    if: [],
    then: [{ get: keys.job }, { get: keys.masterLock }, { get: keys.stop }],
  });
  const [found, lock, stop] = results;
  if (found?.modRevision !== job.modRevision)
    throw new PaddletError('JobUnknown', `the job at ${keys.job} was removed`);
  return [
    { key: keys.job, modRevision: job.modRevision },
    { key: keys.masterLock, createRevision: lock?.createRevision ?? 0n },
    { key: keys.stop, modRevision: stop?.modRevision ?? 0n },
  ];
}

const unknownOutcome = ({ masterLock, stop }: Keys): PaddletError =>
  new PaddletError('StoreUnknownOutcome', `${masterLock} or ${stop} changed before the store confirmed the request`, {
    hint: 'the job was restarted, or another master took over: check with `paddlet status`',
  });
