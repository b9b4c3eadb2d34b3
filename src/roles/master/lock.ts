/**
 * `/master/lock`: one master acts, others stand by until its lease ends (seeds/distributed-training.en.md). With the
 * lock it writes the secret that pservers know it by.
 */
import type { StoreContext } from '../../cluster/context.ts';
import { claimKey, type HeldLease } from '../../cluster/ownership.ts';
import { createSignal, logWaiting } from '../../cluster/waiting.ts';
import type { Fence } from '../../store/fence.ts';
import { follow } from '../../store/follow.ts';
import type { KeyValue } from '../../store/store.ts';

export interface LockClaim {
  readonly lease: HeldLease;
  /** Facts about the owner, for others to read. */
  readonly holder: Record<string, unknown>;
  readonly secret: string;
}

/** Throws `Interrupted` when stopped before, or when the lease is lost. */
export async function takeLock(
  context: StoreContext,
  { lease, holder, secret }: LockClaim,
  stopSignal: AbortSignal,
): Promise<Fence> {
  const { keys, store } = context;
  const { clock, log } = context.host;
  const also = [{ put: keys.masterSecret, value: secret, leaseId: lease.leaseId }];
  const claimed = async () => claimKey(context, { key: keys.masterLock, value: JSON.stringify(holder), lease, also });
  const first = await claimed();
  if (first.outcome === 'owned') return first.fence;
  const changed = createSignal();
  let free = false;
  // A try that was given up may land late: then the lock is ours without our knowing, and claiming tells.
  const isOurs = (entry: KeyValue | undefined): boolean => entry?.leaseId === lease.leaseId;
  const cancel = follow(
    store,
    keys.masterLock,
    {
      onSnapshot: (entries) => {
        free = entries.length === 0 || isOurs(entries[0]);
        changed.notify();
      },
      onEvents: (events) => {
        const last = events.at(-1);
        free = last?.type === 'delete' || (last?.type === 'put' && isOurs(last.entry));
        changed.notify();
      },
      onEnd: (error) => log.error(`watching ${keys.masterLock}: ${error.message}`),
    },
    clock,
  );
  const quiet = logWaiting(clock, log, () => `the master lock, held by ${first.by.value}; standing by`);
  const either = AbortSignal.any([stopSignal, lease.lost]);
  try {
    for (;;) {
      await changed.until(() => (free ? true : undefined), either);
      free = false;
      const claim = await claimed();
      if (claim.outcome === 'owned') return claim.fence;
    }
  } finally {
    quiet();
    cancel();
  }
}
