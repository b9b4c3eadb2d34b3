/** The store of a command that does not wait for ever: opened as its flags say, and asked only for so long. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { openStore } from '../../store/open-store.ts';
import { type RetryOptions, retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store, StoreAccess } from '../../store/store.ts';
import { durationFlag } from './duration-flag.ts';
import { findStore, type WhereFlags } from './find-store.ts';
import { type CredentialFlags, storeCredentials } from './store-credentials.ts';

/** How long a store may take that is only asked: long enough for one that is being restarted. */
export const STORE_LIMIT_MS = 10_000;

/** For commands that wait only for the store. */
export const storeTimeoutFlag = durationFlag('10s', 'Longest time to wait for an answer from the store.');

export interface CommandStoreOptions {
  readonly flags: WhereFlags & CredentialFlags;
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly access: StoreAccess;
  /** How long each answer is waited for. */
  readonly limitMs: number;
  /** A file that is missing may be created by a role in that time. */
  readonly isFileAwaited?: boolean;
}

export interface CommandStore {
  readonly store: Store;
  /** Options for `retryUntilAnswered` and `settle`. */
  readonly ask: RetryOptions & { readonly store: Store };
  /** The job's folder, when the store is embedded. */
  readonly folder: string | undefined;
}

/** Throws the store's own error when it did not answer in time, `JobUnknown` when its file is missing. */
export async function openCommandStore(options: CommandStoreOptions): Promise<CommandStore> {
  const { flags, host, signal, access, limitMs } = options;
  const { url, folder } = findStore(flags, options.isFileAwaited);
  const credentials = storeCredentials(url, flags);
  const wait = { ...host, signal, limitMs };
  const open = (): Promise<Store> => openStore(url, { ...host, access, credentials });
  const store = await retryUntilAnswered({ ...wait, store: { url } }, () =>
    options.isFileAwaited === true ? open().catch(asUnavailable) : open(),
  );
  return { store, ask: { ...wait, store }, folder };
}

function asUnavailable(error: unknown): never {
  if (!isPaddletError(error, 'JobUnknown')) throw error;
  const { message, hint } = error;
  const details = { kind: 'missing', why: message };
  throw new PaddletError('StoreUnavailable', message, {
    ...(hint === undefined ? {} : { hint }),
    details,
    cause: error,
  });
}
