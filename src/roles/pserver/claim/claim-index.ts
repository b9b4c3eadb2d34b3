/**
 * Claims `/ps/<index>`: the wanted index, or the first free one below `/ps_desired`
 * (seeds/distributed-training.en.md, "Parameter Server Process").
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { claimKey, type HeldLease, lossOf } from '../../../cluster/ownership.ts';
import { createSignal, logWaiting, type Signal } from '../../../cluster/waiting.ts';
import type { Fence } from '../../../store/fence.ts';
import { follow } from '../../../store/follow.ts';
import { askInfoAt } from '../../../view/ask-info.ts';

const LIMIT_MARGIN_MS = 500;

export interface ClaimIndexOptions {
  readonly context: RoleContext;
  readonly lease: HeldLease;
  /** `host:port` of this pserver. */
  readonly address: string;
  readonly wanted: number | undefined;
  /** Value of `/ps_desired`. */
  readonly desired: () => number;
  readonly desiredChanged: Signal;
  /**
   * Whether this index last led some units, or its files are needed. If only its machine has these files, a pserver
   * that the job no longer wants must come back.
   */
  readonly isNeeded: (index: number) => Promise<boolean>;
  readonly leaseTtlMs: number;
  readonly stopSignal: AbortSignal;
}

export interface ClaimedIndex {
  readonly index: number;
  readonly fence: Fence;
}

export async function claimIndex(options: ClaimIndexOptions): Promise<ClaimedIndex> {
  const { wanted } = options;
  const desired = options.desired();
  if (wanted !== undefined && wanted >= desired && !(await options.isNeeded(wanted))) {
    throw new PaddletError(
      'Usage',
      `--index ${wanted}: expected 0 to ${desired - 1}, since the job has ${desired} pservers`,
    );
  }
  const taken = await tryCandidates(options);
  if ('index' in taken) return taken;
  return waitAndClaim(options, taken.holder);
}

const candidatesOf = ({ wanted, desired }: ClaimIndexOptions): number[] =>
  wanted === undefined ? Array.from({ length: desired() }, (_, index) => index) : [wanted];

async function tryCandidates(options: ClaimIndexOptions): Promise<ClaimedIndex | { readonly holder: string }> {
  const { context, lease, address } = options;
  let holder = '';
  for (const index of candidatesOf(options)) {
    const claim = await claimKey(context, { key: context.keys.ps(index), value: address, lease });
    if (claim.outcome === 'owned') {
      context.identify?.({ index });
      return { index, fence: claim.fence };
    }
    holder = claim.by.value;
  }
  return { holder };
}

/**
 * Without a wanted index, stands by until an index is free. For a wanted index, waits for the limit of `createLimit`,
 * then throws `IndexTaken` if the owner answers. If the owner does not answer, waits again: after a suspension of the
 * whole machine, the lease of a dead process lasts longer.
 */
async function waitAndClaim(options: ClaimIndexOptions, holder: string): Promise<ClaimedIndex> {
  const { wanted, lease } = options;
  const { clock, log } = options.context.host;
  const stopped = AbortSignal.any([options.stopSignal, lease.lost]);
  const changed = createSignal();
  let mayBeFree = true;
  let isLimitReached = false;
  const limit = createLimit(options, () => {
    isLimitReached = true;
    changed.notify();
  });
  const cancels = [
    followDesired(options, () => {
      mayBeFree = true;
      changed.notify();
    }),
    followIndexes(options, () => {
      mayBeFree = true;
      changed.notify();
    }),
    logWaiting(clock, log, () =>
      wanted === undefined
        ? `a free index: all ${options.desired()} are held; standing by`
        : `index ${wanted}: held by ${holder}; waiting for its lease to end, in case it is dead`,
    ),
    limit.cancel,
  ];
  if (wanted !== undefined) limit.start();
  try {
    for (;;) {
      await changed.until(() => (mayBeFree || isLimitReached ? true : undefined), stopped);
      mayBeFree = false;
      const taken = await tryCandidates(options);
      if ('index' in taken) return taken;
      if (!isLimitReached) continue;
      if (await isAlive(options, taken.holder)) throw indexTaken(wanted!, taken.holder);
      log.info(`index ${wanted}: ${taken.holder} does not answer; waiting for its lease to end`);
      isLimitReached = false;
      limit.start();
    }
  } catch (error) {
    if (lease.lost.aborted && isPaddletError(error, 'Interrupted')) throw lossOf(lease);
    throw error;
  } finally {
    for (const cancel of cancels) cancel();
  }
}

/** Calls `onMore` when the desired number of pservers has changed. */
function followDesired({ desired, desiredChanged, stopSignal }: ClaimIndexOptions, onMore: () => void): Cancel {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, stopSignal]);
  const follow = async (): Promise<never> => {
    for (;;) {
      const before = desired();
      await desiredChanged.until(() => desired() !== before || undefined, signal);
      onMore();
    }
  };
  follow().catch((error: unknown) => assert(isPaddletError(error, 'Interrupted'), 'only an interruption ends it'));
  return () => stop.abort();
}

/** Calls `onFree` when an index may have become free. */
function followIndexes({ context, lease }: ClaimIndexOptions, onFree: () => void): Cancel {
  const { store, keys, host } = context;
  return follow(
    store,
    keys.psPrefix,
    {
      onSnapshot: onFree,
      onEvents: (events) => {
        if (events.some((event) => event.type === 'delete' || event.entry.leaseId === lease.leaseId)) onFree();
      },
      onEnd: (error) => host.log.error(`watching ${keys.psPrefix}: ${error.message}`),
    },
    host.clock,
  );
}

/**
 * The time within which the lease of a dead owner ends: one and a half lease times, and a margin. An embedded store
 * ends the lease of a dead process only after it had a watcher for a whole lease time. A restarted etcd restarts every
 * lease. The time starts again whenever the store was unreachable or this process was suspended.
 */
function createLimit({ context, lease, leaseTtlMs }: ClaimIndexOptions, onReached: () => void) {
  let isRunning = false;
  let cancelTimer: Cancel = () => {};
  const start = (): void => {
    cancelTimer();
    isRunning = true;
    cancelTimer = context.host.clock.after(leaseTtlMs * 1.5 + LIMIT_MARGIN_MS, () => {
      if (!lease.isHeld()) return start();
      isRunning = false;
      onReached();
    });
  };
  lease.onResume(() => {
    if (isRunning) start();
  });
  const cancel = (): void => {
    isRunning = false;
    cancelTimer();
  };
  return { start, cancel };
}

/** Whether a pserver answers at the address of the holder, and has the wanted index or does not know its index yet. */
async function isAlive({ context, address, wanted }: ClaimIndexOptions, holder: string): Promise<boolean> {
  // No other live process has this process's address.
  if (holder === address) return false;
  const answer = await askInfoAt(context.network, holder);
  if (answer.kind === 'notUnderstood') {
    // A live process, but this version does not understand its answer.
    context.host.log.warn(`${holder} ${answer.error.message}`);
    return true;
  }
  if (answer.kind !== 'info' || answer.info.role !== 'pserver') return false;
  return answer.info.index === undefined || answer.info.index === wanted;
}

function indexTaken(index: number, holder: string): PaddletError {
  return new PaddletError('IndexTaken', `index ${index} is held by a live pserver at ${holder}`, {
    hint: 'choose another --index, or omit --index to claim the first free one',
  });
}
