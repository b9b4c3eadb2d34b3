/**
 * Makes a written file known, then deletes what it replaced: never the other way round, and nothing by listing a folder.
 * A writer that lost its ownership can neither publish nor, therefore, delete.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Clock, Disk } from '../../base/seams.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { settle } from '../../store/settle.ts';
import type { Store, TxnResult } from '../../store/store.ts';
import { checkpointPath, type FilePlace } from '../file/paths.ts';
import {
  type CheckpointEntry,
  type Generation,
  generationsOf,
  parseEntry,
  type ReadEntry,
  readEntry,
} from './entry.ts';
import { type RetentionOptions, retain } from './retention.ts';

export interface StoreAccess {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Called at each try that the store did not answer. */
  readonly onWaiting?: (error: PaddletError) => void;
}

export interface PublishOptions extends StoreAccess, Partial<Omit<RetentionOptions, 'keep'>> {
  /** Of the writer's claim: `/ps/<index>`. */
  readonly fence: Fence;
  /** `/checkpoints/<index>`. */
  readonly key: string;
  readonly generation: Generation;
  readonly keep: number;
}

export interface Published {
  readonly entry: CheckpointEntry;
  /** Files that this publish took out of the entry, and that nobody else may delete. */
  readonly dropped: readonly string[];
  /** The value before could not be understood and was replaced; none of its files is deleted. */
  readonly complaint: string | undefined;
}

/** Someone else changes an entry only rarely (a restore, another writer of this process). */
const MAX_CONFLICTS = 10;

/**
 * Puts the generation at the head of the entry. Waits out a store that is away. Throws `LeaseGone` when the fence is no
 * longer the writer's, `Interrupted` when aborted.
 */
export async function publish(options: PublishOptions): Promise<Published> {
  const { key, keep, generation, others = [], isProtected = () => false } = options;
  let dropped: readonly string[] = [];
  const { entry, complaint } = await update(options, (before) => {
    // A try thought lost had landed, and the entry was opened since: what it dropped stays as it was worked out then.
    if (before?.uuid === generation.uuid) return before;
    const earlier = before === undefined ? [] : generationsOf(before);
    const retention = retain(generation, earlier, { keep, others, isProtected });
    dropped = retention.dropped;
    return { ...generation, keep, generations: retention.kept };
  });
  if (entry === undefined) throw new PaddletError('StoreInvalid', `${key}: changed by others again and again`);
  return { entry, dropped, complaint };
}

export interface OpenOptions extends StoreAccess {
  readonly fence: Fence;
  readonly key: string;
}

/**
 * Notes in the entry that its newest file is being served from, before anything is applied: from here on a clean file is
 * clean no more. Nothing to do when there is no entry. Throws like `publish`.
 */
export async function markOpened(options: OpenOptions): Promise<void> {
  const { key, fence } = options;
  const opened = fence.token.toString();
  const { entry, isAbsent } = await update(options, (before) => before && { ...before, opened });
  if (entry === undefined && !isAbsent) throw new PaddletError('StoreInvalid', `${key}: changed again and again`);
}

interface Updated {
  readonly entry: CheckpointEntry | undefined;
  readonly complaint: string | undefined;
  /** The change asked for nothing. */
  readonly isAbsent: boolean;
}

async function update(
  options: OpenOptions,
  change: (before: CheckpointEntry | undefined) => CheckpointEntry | undefined,
): Promise<Updated> {
  const { store, key, fence } = options;
  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts++) {
    const before = await readSettled(options);
    const entry = change(before.entry);
    if (entry === undefined) return { entry, complaint: before.complaint, isAbsent: true };
    const value = JSON.stringify(entry);
    const answer = await settle({
      ...options,
      run: () => {
        const unchanged = [{ key, modRevision: before.modRevision }];
        return fencedTxn(store, fence, { if: unchanged, then: [{ put: key, value }] });
      },
      // This writer is the key's only one while the fence holds, and each of its values names its own newest file.
      happened: async () => (await store.get(key))?.value === value,
    });
    if (answer.succeeded) return { entry, complaint: before.complaint, isAbsent: false };
  }
  return { entry: undefined, complaint: undefined, isAbsent: false };
}

async function readSettled(options: OpenOptions): Promise<ReadEntry> {
  const { store, key } = options;
  const run = (): Promise<TxnResult> => store.txn({ if: [], then: [{ get: key }] });
  const { result } = await settle({ ...options, run, happened: async () => false });
  return parseEntry(key, result?.results[0]);
}

/** Deletes files that a publish dropped. What cannot be deleted now is returned, and goes at the next start. */
export async function deleteDropped(
  disk: Disk,
  place: FilePlace,
  dropped: readonly string[],
): Promise<{ readonly path: string; readonly error: unknown }[]> {
  const failures: { path: string; error: unknown }[] = [];
  for (const uuid of dropped) {
    const path = checkpointPath(place, uuid);
    try {
      await disk.remove(path);
      failPoint('checkpoint.deleted');
    } catch (error) {
      failures.push({ path, error });
    }
  }
  return failures;
}

/**
 * After `publish` failed with `LeaseGone`: no try of it can land any more, so the file goes unless the entry names it.
 * True when it was removed.
 */
export async function removeUnpublished(
  options: OpenOptions & { readonly disk: Disk; readonly place: FilePlace; readonly uuid: string },
): Promise<boolean> {
  const { disk, place, uuid, store, key } = options;
  try {
    const { entry, complaint } = await readEntry(store, key);
    const isNamed = entry !== undefined && generationsOf(entry).some((generation) => generation.uuid === uuid);
    if (complaint !== undefined || isNamed) return false;
  } catch (error) {
    // The next owner removes it as an orphan if nothing names it.
    if (isPaddletError(error, 'StoreUnavailable')) return false;
    throw error;
  }
  await disk.remove(checkpointPath(place, uuid));
  return true;
}

/**
 * Makes a snapshot known that an owner wrote after it had lost its index: under a key named by its token, which nobody
 * else writes, so it needs no fence. Returns when it is there.
 */
export async function publishParting(
  options: StoreAccess & { readonly key: string; readonly generation: Generation },
): Promise<void> {
  const { store, key, generation } = options;
  const value = JSON.stringify(generation);
  const happened = async (): Promise<boolean> => (await store.get(key))?.value === value;
  const run = (): Promise<TxnResult> => store.txn({ if: [{ key, createRevision: 0n }], then: [{ put: key, value }] });
  const { succeeded } = await settle({ ...options, run, happened });
  if (!succeeded) throw new PaddletError('StoreInvalid', `${key}: there is a parting snapshot of this token already`);
}
