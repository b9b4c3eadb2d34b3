/** Opens the store that the flags name and finds its job: for commands about a job that exists. */
import { join, resolve } from 'node:path';
import type { Host } from '../../base/seams.ts';
import { type JobRecord, readJobRecord } from '../../cluster/job/job-record.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store, StoreAccess } from '../../store/store.ts';
import { openCommandStore, STORE_LIMIT_MS } from './command-store.ts';
import { milliseconds } from './duration-flag.ts';
import { findChroot, jobFolder, unknownJob, type WhereFlags } from './find-store.ts';
import type { CredentialFlags } from './store-credentials.ts';

export interface JobInStore {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  readonly record: JobRecord;
}

export interface OpenJob extends JobInStore {
  /** Where its checkpoints are. */
  readonly checkpointFolder: string;
  /** What its processes on this machine write. */
  readonly folder: string;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
  /** How long each answer of the store is waited for. */
  readonly limitMs: number;
  /** Repeats an idempotent call while the store is unreachable. */
  retryStore<T>(call: () => Promise<T>): Promise<T>;
}

export interface WithJobOptions {
  readonly flags: WhereFlags & CredentialFlags & { readonly timeout?: string | undefined };
  readonly host: Host;
  readonly signal: AbortSignal;
  /** Default: `read`. */
  readonly access?: StoreAccess;
  /** How long each answer of the store is waited for; default `--timeout` of the flags. */
  readonly limitMs?: number;
}

/** Throws `JobUnknown` when the store has no job. Closes the store in the end. */
export async function withJob<T>(options: WithJobOptions, act: (job: OpenJob) => Promise<T>): Promise<T> {
  const { flags, host, signal, access = 'read' } = options;
  const limitMs = options.limitMs ?? (flags.timeout === undefined ? STORE_LIMIT_MS : milliseconds(flags.timeout));
  const { store, ask, folder: dir } = await openCommandStore({ flags, host, signal, access, limitMs });
  try {
    const retryStore = <R>(call: () => Promise<R>): Promise<R> => retryUntilAnswered(ask, call);
    const chroot = await retryStore(() => findChroot(store, flags));
    const keys = chroot === undefined ? undefined : keysOf(chroot);
    const record = keys && (await retryStore(() => readJobRecord(store, keys)));
    if (keys === undefined || record === undefined) throw await retryStore(() => unknownJob(store, flags));
    const { name, checkpoint } = record.job;
    const folder = jobFolder({ dir }, name);
    const checkpointFolder = resolve(checkpoint.dir ?? join(folder, 'checkpoints'));
    return await act({ host, store, keys, record, folder, checkpointFolder, signal, limitMs, retryStore });
  } finally {
    await store.close();
  }
}
