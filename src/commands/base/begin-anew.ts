/** `--fresh`: forgets what a store has of a job. Only when nobody is at work on it. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Keys } from '../../store/keys.ts';
import { type RetryOptions, retryWhileAway } from '../../store/retry-while-away.ts';
import type { Store } from '../../store/store.ts';

export async function beginAnew(
  ask: RetryOptions & { readonly store: Store },
  keys: Keys,
  folder: string,
): Promise<void> {
  const { store } = ask;
  const alive = await retryWhileAway(ask, async () => {
    const prefixes = [keys.masterLock, keys.psPrefix, keys.trainersPrefix];
    const ranges = await Promise.all(prefixes.map((prefix) => store.range({ prefix, limit: 1 })));
    return ranges.flatMap(({ entries }) => entries).map(({ key, value }) => `${key} = ${value}`);
  });
  if (alive.length > 0) {
    throw new PaddletError('JobConflict', `the job is being worked on: ${alive.join(', ')}`, {
      hint: 'stop it first (paddlet stop), or wait until the leases of dead processes have run out',
    });
  }
  await retryWhileAway(ask, () => store.txn({ if: [], then: [{ deletePrefix: `${keys.chroot}/` }] }));
  rmSync(join(folder, 'checkpoints'), { recursive: true, force: true });
}
