import { newJoinToken } from '../../cluster/job/join-token.ts';
import { settle } from '../../store/retry-transaction.ts';
import type { OpenJob } from '../base/with-job.ts';

export interface RotatedJob extends Pick<OpenJob, 'store' | 'keys' | 'signal' | 'limitMs' | 'retryStore'> {
  readonly host: Pick<OpenJob['host'], 'clock' | 'random'>;
}

/**
 * Replaces the join token. An abandoned try can land later, but never over the token of a later rotation or of another
 * job. Throws what the store says when it does not answer in time.
 */
export async function rotateToken({ host, store, keys, signal, limitMs, retryStore }: RotatedJob): Promise<void> {
  const value = newJoinToken(host.random);
  for (;;) {
    const [job, token] = await retryStore(
      async () => (await store.txn({ if: [], then: [{ get: keys.job }, { get: keys.token }] })).results,
    );
    const unchanged = [
      { key: keys.job, modRevision: job?.modRevision ?? 0n },
      { key: keys.token, modRevision: token?.modRevision ?? 0n },
    ];
    const { succeeded } = await settle({
      ...host,
      ...{ signal, limitMs },
      run: () => store.txn({ if: unchanged, then: [{ put: keys.token, value }] }),
      happened: async () => (await store.get(keys.token))?.value === value,
    });
    if (succeeded) return;
  }
}
