/**
 * Publishes a written file, then deletes the files that it replaced: never in the other order, and never by listing a
 * folder. A writer that lost its ownership can neither publish nor, therefore, delete.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Clock, Disk } from '../../base/seams.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { settle } from '../../store/retry-transaction.ts';
import type { KeyValue, Store, TxnResult } from '../../store/store.ts';
import { checkpointPath, type FilePlace } from '../file/paths.ts';
import { parseCut, protectedByCut } from './cut.ts';
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
  /** Called at each attempt that the store did not answer. */
  readonly onWaiting?: (error: PaddletError) => void;
}

export interface PublishOptions extends StoreAccess, Partial<Pick<RetentionOptions, 'others'>> {
  /** Of the writer's claim: `/ps/<index>`. */
  readonly fence: Fence;
  /** `/checkpoints/<index>`. */
  readonly key: string;
  readonly generation: Generation;
  readonly keep: number;
  /** Files that heads name as the last state: they stay, whatever `keep` is. */
  readonly stays?: ReadonlySet<string>;
  /** Sync mode: `/checkpoints/cut`. What `protectedByCut` says stays, whatever `keep` is. */
  readonly cutKey?: string;
}

export interface Published {
  readonly entry: CheckpointEntry;
  /** Files that this publish took out of the entry; only its caller may delete them. */
  readonly dropped: readonly string[];
  /** Set when the value before could not be parsed. It was replaced; none of its files is deleted. */
  readonly complaint: string | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/** Other writers of an entry are rare: a restore, another writer of this process. */
const CONFLICT_ATTEMPTS = 10;

/**
 * Puts the generation at the head of the entry. Waits while the store is unreachable. Throws `LeaseGone` when the fence
 * is no longer the writer's, `Interrupted` when aborted.
 */
export async function publish(options: PublishOptions): Promise<Published> {
  const { keep, generation, others = [], cutKey, stays = NONE } = options;
  let dropped: readonly string[] = [];
  const { entry, complaint } = await update(options, (before, cut) => {
    // An attempt in doubt had landed: what it dropped stays as computed then.
    if (before?.uuid === generation.uuid) return before;
    const earlier = before === undefined ? [] : generationsOf(before);
    const ofCut = cutKey === undefined ? NONE : protectedByCut(parseCut(cutKey, cut).cut, [generation, ...earlier]);
    const isProtected = ({ uuid }: Generation): boolean => ofCut.has(uuid) || stays.has(uuid);
    const retention = retain(generation, earlier, { keep, others, isProtected });
    dropped = retention.dropped;
    return { ...generation, keep, generations: retention.kept };
  });
  return { entry, dropped, complaint };
}

interface EntryAccess extends StoreAccess {
  readonly fence: Fence;
  readonly key: string;
}

async function update(
  options: PublishOptions,
  change: (before: CheckpointEntry | undefined, cut: KeyValue | undefined) => CheckpointEntry,
): Promise<{ readonly entry: CheckpointEntry; readonly complaint: string | undefined }> {
  const { store, key, fence } = options;
  for (let conflicts = 0; conflicts < CONFLICT_ATTEMPTS; conflicts++) {
    const { before, cut } = await readSettled(options);
    const entry = change(before.entry, cut);
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
    if (answer.succeeded) return { entry, complaint: before.complaint };
  }
  throw new PaddletError('StoreInvalid', `${key}: ${CONFLICT_ATTEMPTS} attempts met changes by others`);
}

interface ReadSettled {
  readonly before: ReadEntry;
  readonly cut: KeyValue | undefined;
}

async function readSettled(options: PublishOptions): Promise<ReadSettled> {
  const { store, key, cutKey } = options;
  const then = [{ get: key }, ...(cutKey === undefined ? [] : [{ get: cutKey }])];
  const { result } = await settle({ ...options, run: () => store.txn({ if: [], then }), happened: async () => false });
  return { before: parseEntry(key, result?.results[0]), cut: result?.results[1] };
}

/** Deletes files that a publish dropped. Returns those that cannot be deleted now; the next start removes them. */
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
 * After `publish` failed with `LeaseGone`: no attempt of it can land any more, so the file is removed unless the entry
 * names it. True when it was removed.
 */
export async function removeUnpublished(
  options: EntryAccess & { readonly disk: Disk; readonly place: FilePlace; readonly uuid: string },
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
 * Publishes a snapshot that an owner wrote after it had lost its index. The key is named by the owner's token and has
 * no other writer, so it needs no fence. Returns when the key exists.
 */
export async function publishParting(
  options: StoreAccess & { readonly key: string; readonly generation: Generation },
): Promise<void> {
  const { store, key, generation } = options;
  const value = JSON.stringify(generation);
  const happened = async (): Promise<boolean> => (await store.get(key))?.value === value;
  const run = (): Promise<TxnResult> => store.txn({ if: [{ key, createRevision: 0n }], then: [{ put: key, value }] });
  const { succeeded } = await settle({ ...options, run, happened });
  if (!succeeded) throw new PaddletError('StoreInvalid', `${key}: a parting snapshot of this token exists already`);
}
