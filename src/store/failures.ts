/** Errors that all stores throw in the same words. */
import { PaddletError } from '../base/errors.ts';

export const leaseGone = (leaseId: bigint): PaddletError =>
  new PaddletError('LeaseGone', `lease ${leaseId} has ended`, {
    hint: 'the process that owns the lease was cut off from the store for longer than the TTL of the lease',
  });

export const compacted = (from: bigint, until: bigint): PaddletError =>
  new PaddletError(
    'StoreCompacted',
    `the store no longer has the history from revision ${from}: compacted up to ${until}`,
  );

export const storeReplaced = (url: string, how: string): PaddletError =>
  new PaddletError('StoreReplaced', `store ${url} ${how} while it was in use`, {
    hint: 'the store no longer has the job; start the processes of the job again',
  });
