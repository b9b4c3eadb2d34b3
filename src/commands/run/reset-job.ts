/**
 * `run --fresh` and `jobs delete` remove a job's keys from the store, and its checkpoint files, unless processes work
 * on the job.
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Storage } from '../../base/seams.ts';
import { removeManifests } from '../../checkpoint/registry/kept.ts';
import { trainerAddress } from '../../cluster/trainer-entry.ts';
import { interrupted, logWaiting } from '../../cluster/waiting.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import type { Keys } from '../../store/keys.ts';
import { settle } from '../../store/retry-transaction.ts';
import { type RetryOptions, retryUntilAnswered, storeWaitLogger } from '../../store/retry-until-answered.ts';
import type { Compare, Store } from '../../store/store.ts';
import { askInfoAt } from '../../view/ask-info.ts';
import { liveRoles, waitUntil } from '../base/job-wait.ts';
import { type JobBefore, parsed, readJobBefore, recordOf } from './job-before.ts';
import { removeCheckpoints } from './remove-checkpoints.ts';

export interface ResetOptions extends RetryOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly storage: Storage;
  readonly network: Network;
  /** Folder of the checkpoints, unless the job in the store names another. */
  readonly folder: string | undefined;
  /** Lease TTL of the job that is about to start; the longer of this and that of the existing job counts. */
  readonly leaseTtlMs: number;
  /** The command that stops the job, for hints. */
  readonly stopCommand?: string;
}

/** Throws `JobConflict`, and removes nothing, while processes of the job live and answer. */
export async function resetJob(options: ResetOptions): Promise<void> {
  const { store, keys } = options;
  await untilAllHaveExited(options);
  const before = await retryUntilAnswered(options, () => readJobBefore(store, keys));
  await removeKeys(options, before);
  await removeFiles(options, before);
}

/**
 * Throws `JobConflict`, and removes nothing, while processes of the job live and answer. Removes the keys last, so that
 * an interrupted deletion still knows the files: it can be repeated, and no role can resume the job before that.
 */
export async function deleteJob(options: ResetOptions): Promise<void> {
  const { store, keys } = options;
  await untilAllHaveExited(options);
  const read = (): Promise<JobBefore> => retryUntilAnswered(options, () => readJobBefore(store, keys));
  await closeJob(options, await read());
  const before = await read();
  await removeFiles(options, before);
  await removeKeys(options, before);
}

async function removeFiles({ storage, folder: ofRun }: ResetOptions, { folder = ofRun, files, job }: JobBefore) {
  if (folder === undefined) return;
  await removeCheckpoints(storage, folder, files);
  if (job !== undefined) await removeManifests({ storage, folder, job });
}

/** Gives the record a version that no executable reads. What `readJobBefore` reads of the record stays. */
async function closeJob(options: ResetOptions, before: JobBefore): Promise<void> {
  const { store, keys } = options;
  const { entry } = before;
  if (entry === undefined) return;
  const record = parsed(z.record(z.string(), z.unknown()), entry.value);
  const value = JSON.stringify({ ...record, version: CLOSED_VERSION });
  if (entry.value === value) return;
  const { succeeded } = await settle({
    ...options,
    run: () => store.txn({ if: unchangedSince(options, before), then: [{ put: keys.job, value }] }),
    happened: async () => (await store.get(keys.job))?.value === value,
    onWaiting: storeWaitLogger(options),
  });
  if (!succeeded) throw jobInUse(`${keys.chroot} changed in the meantime`, options);
}

/** Lower than the version of any executable. */
const CLOSED_VERSION = 0;

/** Keys of live processes, with their values. */
type Alive = ReadonlyMap<string, string>;

/**
 * Throws `JobConflict` while processes of the job live and answer. Waits for the leases of dead ones to expire: an
 * embedded store expires none unless some process watches it.
 */
export async function untilAllHaveExited(options: ResetOptions): Promise<void> {
  const { keys, log, network } = options;
  for (;;) {
    const alive = await stillAlive(options);
    if (alive.size === 0) return;
    const answers = await Promise.all(
      [...alive].map(async ([key, value]) => {
        const address = addressOf(keys, key, value);
        return address === undefined ? { kind: 'none' as const } : askInfoAt(network, address);
      }),
    );
    if (answers.some(({ kind }) => kind !== 'none')) throw jobInUse(textOf(alive), options);
    log.info(`${textOf(alive)}: no answer; waiting for the leases to expire`);
  }
}

/**
 * The processes whose leases have not expired after as long as a pserver waits for its index. Returns early when none
 * is left.
 */
async function stillAlive(options: ResetOptions): Promise<Alive> {
  const { clock, log, store, keys, signal } = options;
  const limit = new AbortController();
  let patienceMs: number | undefined;
  let alive: Alive = new Map();
  const start = (leaseTtlMs: number): void => {
    // An embedded store is watched for a whole lease time before it ends one.
    patienceMs = 1.5 * leaseTtlMs + 500;
    cancels.push(
      clock.after(patienceMs, () => limit.abort()),
      logWaiting(clock, log, () => `the leases of ${textOf(alive)} to expire, in case these processes are dead`),
    );
  };
  const cancels: (() => void)[] = [];
  try {
    await waitUntil({ clock, store, keys, signal: AbortSignal.any([signal, limit.signal]) }, (entries) => {
      alive = new Map(liveRoles(keys, entries).map((key) => [key, entries.get(key)!]));
      if (alive.size === 0) return true;
      const { leaseTtlMs = 0 } = recordOf(entries.get(keys.job))?.job.cluster ?? {};
      if (patienceMs === undefined) start(Math.max(leaseTtlMs, options.leaseTtlMs));
      return false;
    });
    return alive;
  } catch (error) {
    if (signal.aborted) throw interrupted();
    if (limit.signal.aborted) return alive;
    throw error;
  } finally {
    for (const cancel of cancels) cancel();
  }
}

const textOf = (alive: Alive): string => [...alive].map(([key, value]) => `${key} = ${value}`).join(', ');

const lockSchema = z.object({ address: z.string() });

/** The lock has more in it than an address; undefined when another version wrote it. */
const addressOf = (keys: Keys, key: string, value: string): string | undefined =>
  key === keys.masterLock ? parsed(lockSchema, value)?.address : trainerAddress(value);

/**
 * An abandoned try may land later and must not hit a job that has started since: the transaction requires that no
 * master and no pserver is registered, and that the job is as it was read.
 */
function unchangedSince({ keys }: ResetOptions, { entry, pservers }: JobBefore): Compare[] {
  const unchanged: Compare[] = [
    { key: keys.job, modRevision: entry?.modRevision ?? 0n },
    { key: keys.masterLock, createRevision: 0n },
  ];
  // When they do not all fit, the first ones: each pserver takes the first free index.
  for (let index = 0; index < pservers && unchanged.length < LIMITS.storeTxnOps; index++) {
    unchanged.push({ key: keys.ps(index), createRevision: 0n });
  }
  return unchanged;
}

async function removeKeys(options: ResetOptions, before: JobBefore): Promise<void> {
  const { store, keys } = options;
  const { entry } = before;
  const { succeeded } = await settle({
    ...options,
    run: () => store.txn({ if: unchangedSince(options, before), then: [{ deletePrefix: `${keys.chroot}/` }] }),
    happened: async () => {
      if (entry !== undefined) return (await store.get(keys.job))?.modRevision !== entry.modRevision;
      return (await store.range({ prefix: `${keys.chroot}/`, limit: 1 })).entries.length === 0;
    },
    onWaiting: storeWaitLogger(options),
  });
  if (!succeeded) throw jobInUse(`${keys.chroot} changed in the meantime`, options);
}

const jobInUse = (what: string, { stopCommand = 'paddlet stop' }: ResetOptions): PaddletError =>
  new PaddletError('JobConflict', `processes of the job are running: ${what}`, {
    hint: `stop the job first with \`${stopCommand}\``,
  });
