/**
 * Claims `/ps/<index>`: the wanted index, or the first free one below `/ps_desired`
 * (seeds/distributed-training.en.md, "Parameter Server Process").
 */

import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { askInfoAt } from '../../cluster/job/ask-info.ts';
import { claimKey, type HeldLease, lossOf } from '../../cluster/ownership.ts';
import { createSignal, sayWaiting } from '../../cluster/waiting.ts';
import type { Fence } from '../../store/fence.ts';
import { follow } from '../../store/follow.ts';

export interface ClaimIndexOptions {
  readonly context: RoleContext;
  readonly lease: HeldLease;
  /** `host:port` of this pserver. */
  readonly address: string;
  readonly wanted: number | undefined;
  /** `/ps_desired`. */
  readonly desired: number;
  readonly leaseTtlMs: number;
  readonly stopSignal: AbortSignal;
}

export interface ClaimedIndex {
  readonly index: number;
  readonly fence: Fence;
}

export async function claimIndex(options: ClaimIndexOptions): Promise<ClaimedIndex> {
  const { desired, wanted } = options;
  if (wanted !== undefined && wanted >= desired) {
    throw new PaddletError('Usage', `--index ${wanted}: the job wants ${desired} pservers, 0 to ${desired - 1}`);
  }
  const candidates = wanted === undefined ? Array.from({ length: desired }, (_, index) => index) : [wanted];
  const taken = await tryCandidates(options, candidates);
  if ('index' in taken) return taken;
  return waitAndClaim(options, candidates, taken.holder);
}

async function tryCandidates(
  options: ClaimIndexOptions,
  candidates: readonly number[],
): Promise<ClaimedIndex | { readonly holder: string }> {
  const { context, lease, address } = options;
  let holder = '';
  for (const index of candidates) {
    const claim = await claimKey(context, { key: context.keys.ps(index), value: address, lease });
    if (claim.outcome === 'owned') return { index, fence: claim.fence };
    holder = claim.by.value;
  }
  return { holder };
}

/**
 * The lease of a wanted index's former owner may still run: waits for one and a half lease times. (An embedded store
 * needs a watcher for a whole lease time before it ends the lease of a dead process; a restarted etcd lets every lease
 * run its whole time once more.) After that only an owner that answers is alive: if the whole machine was suspended for
 * a while, a lease outlives its process by more. Without a wanted index, stands by until one is free.
 */
async function waitAndClaim(
  options: ClaimIndexOptions,
  candidates: readonly number[],
  holder: string,
): Promise<ClaimedIndex> {
  const { context, wanted, leaseTtlMs, lease } = options;
  const stopped = AbortSignal.any([options.stopSignal, lease.lost]);
  const { clock, log } = context.host;
  const changed = createSignal();
  let tries = 1;
  let expired = false;
  let done = false;
  const wake = (): void => {
    tries += 1;
    changed.notify();
  };
  const cancels = [
    follow(
      context.store,
      context.keys.psPrefix,
      {
        onSnapshot: wake,
        onEvents: (events) => {
          if (events.some((event) => event.type === 'delete' || event.entry.leaseId === lease.leaseId)) wake();
        },
        onEnd: (error) => log.error(`watching ${context.keys.psPrefix}: ${error.message}`),
      },
      clock,
    ),
    sayWaiting(clock, log, () =>
      wanted === undefined
        ? `a free index: all ${candidates.length} are held; standing by`
        : `index ${wanted}: held by ${holder}; waiting for its lease to end, in case it is dead`,
    ),
  ];
  let cancelLimit: Cancel = () => {};
  /** Starts again after each time in which the store was unreachable or this process was suspended. */
  const armLimit = (): void => {
    cancelLimit();
    cancelLimit = clock.after(leaseTtlMs * 1.5 + 500, () => {
      if (!lease.isHeld()) return armLimit();
      expired = true;
      changed.notify();
    });
  };
  if (wanted !== undefined) {
    armLimit();
    lease.onResume(() => {
      if (!expired && !done) armLimit();
    });
    cancels.push(() => cancelLimit());
  }
  try {
    for (;;) {
      await changed.until(() => (tries > 0 || expired ? true : undefined), stopped);
      tries = 0;
      const taken = await tryCandidates(options, candidates);
      if ('index' in taken) return taken;
      if (!expired) continue;
      if (await isAlive(options, taken.holder)) throw indexTaken(wanted!, taken.holder);
      log.info(`index ${wanted}: ${taken.holder} does not answer; waiting for its lease to end`);
      expired = false;
      armLimit();
    }
  } catch (error) {
    if (lease.lost.aborted && isPaddletError(error, 'Interrupted')) throw lossOf(lease);
    throw error;
  } finally {
    done = true;
    for (const cancel of cancels) cancel();
  }
}

/** Whether a pserver of that index answers, or one that does not know its index yet. */
async function isAlive({ context, address, wanted }: ClaimIndexOptions, holder: string): Promise<boolean> {
  // No other live process has this process's address.
  if (holder === address) return false;
  const info = await askInfoAt(context.network, holder);
  return info?.role === 'pserver' && (info.index === undefined || info.index === wanted);
}

function indexTaken(index: number, holder: string): PaddletError {
  return new PaddletError('IndexTaken', `index ${index} is held by a live pserver at ${holder}`, {
    hint: 'start with another --index, or without it to take the first free one',
  });
}
