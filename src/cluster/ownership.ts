/**
 * A key that this process owns under a lease: the master's lock, a pserver's index, a trainer's registration. The lease
 * is a hint; the fencing token (the key's create revision) is the proof that goes into every write (docs/design.md §2).
 */
import { isPaddletError, type PaddletError } from '../base/errors.ts';
import type { Log } from '../base/seams.ts';
import type { Fence } from '../store/fence.ts';
import { type KeptLease, keepLease } from '../store/lease-keeper.ts';
import { retryUntilAnswered } from '../store/retry-until-answered.ts';
import type { KeyValue, Op, Store } from '../store/store.ts';
import type { StoreContext } from './context.ts';
import { createSignal, type Signal } from './waiting.ts';

/** A lease that is being kept, before and after it owns a key. */
export interface HeldLease {
  readonly leaseId: bigint;
  isHeld(): boolean;
  /** Aborts, with the store's error as reason, when the store says that the lease no longer exists. */
  readonly lost: AbortSignal;
  /** Notified on suspension and on resumption. */
  readonly changed: Signal;
  onResume(run: () => void): void;
  /** Ends the lease, which deletes the keys attached to it. False when the store did not confirm that. */
  release(): Promise<boolean>;
}

/** Grants a lease; retries until the store answers. */
export async function holdLease(context: StoreContext, ttlMs: number): Promise<HeldLease> {
  const { clock, log } = context.host;
  const changed = createSignal();
  const lost = new AbortController();
  const resumed: (() => void)[] = [];
  const { sentAtMs, grant } = await grantWithRetries(context, ttlMs);
  const kept: KeptLease = keepLease({
    store: context.store,
    clock,
    leaseId: grant.leaseId,
    grantedTtlMs: grant.grantedTtlMs,
    sentAtMs,
    onSuspend: () => {
      log.warn('suspended: the store did not renew the lease in time; requests wait until it answers', {
        store: context.store.url,
      });
      changed.notify();
    },
    onResume: () => {
      log.info('resumed: the store still had the lease');
      for (const run of resumed) run();
      changed.notify();
    },
    onFailed: (error) => context.troubles?.set('store', storeTrouble(context, error)),
    onRenewed: () => context.troubles?.clear('store'),
    onLost: (error) => {
      lost.abort(error);
      changed.notify();
    },
  });
  return {
    leaseId: grant.leaseId,
    isHeld: () => kept.isHeld(),
    lost: lost.signal,
    changed,
    onResume: (run) => resumed.push(run),
    async release() {
      kept.stop();
      return revoke(context.store, grant.leaseId, log);
    },
  };
}

async function grantWithRetries(context: StoreContext, ttlMs: number) {
  const { clock } = context.host;
  const sent = { atMs: 0 };
  const grant = await retryStore(context, async () => {
    sent.atMs = clock.monotonicMs();
    return context.store.leaseGrant(ttlMs);
  });
  return { sentAtMs: sent.atMs, grant };
}

/** A failure is only logged, since the lease expires anyway. */
async function revoke(store: Store, leaseId: bigint, log: Log): Promise<boolean> {
  try {
    await store.leaseRevoke(leaseId);
    return true;
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    log.warn(`the lease could not be revoked and will expire by itself: ${error.message}`);
    return false;
  }
}

/** Repeats an idempotent call while the store is unreachable, until it answers or the signal aborts. */
export async function retryStore<T>(context: StoreContext, call: () => Promise<T>, signal = context.stop): Promise<T> {
  const { troubles } = context;
  let isTroubled = false;
  const tell = async (): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      if (isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome')) {
        isTroubled = true;
        troubles?.set('store', storeTrouble(context, error));
      }
      throw error;
    }
  };
  const answer = await retryUntilAnswered({ ...context.host, store: context.store, signal }, tell);
  if (isTroubled) troubles?.clear('store');
  return answer;
}

const storeTrouble = ({ store }: StoreContext, { message }: PaddletError): string =>
  `the store ${store.url}: ${message}`;

export interface ClaimOptions {
  readonly key: string;
  readonly value: string;
  readonly lease: HeldLease;
  /** Written together with the key, when it is free. */
  readonly also?: readonly Op[];
}

export type Claim =
  | { readonly outcome: 'owned'; readonly fence: Fence }
  | { readonly outcome: 'taken'; readonly by: KeyValue };

/** Creates the key if it does not exist. After a try with unknown outcome the key's lease says whether it is ours. */
export async function claimKey(context: StoreContext, options: ClaimOptions): Promise<Claim> {
  const { key, value, lease } = options;
  return retryStore(context, async () => {
    const answer = await context.store.txn({
      if: [{ key, createRevision: 0n }],
      then: [{ put: key, value, leaseId: lease.leaseId }, ...(options.also ?? [])],
      else: [{ get: key }],
    });
    if (answer.succeeded) return { outcome: 'owned', fence: { key, token: answer.revision } };
    const owner = answer.results[0];
    if (owner === undefined) throw new Error(`${key}: refused as taken, yet absent in the same revision`);
    if (owner.leaseId === lease.leaseId) return { outcome: 'owned', fence: { key, token: owner.createRevision } };
    return { outcome: 'taken', by: owner };
  });
}

/** The reason of `lost`, typed. */
export function lossOf(lease: HeldLease): PaddletError {
  return lease.lost.reason as PaddletError;
}
