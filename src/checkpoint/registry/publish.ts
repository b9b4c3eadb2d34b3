/**
 * Publishes a written file, then deletes the files that it replaced: never in the other order, and never by listing a
 * folder. A writer that lost its ownership can neither publish nor, therefore, delete.
 */
import { assert } from '../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { Clock, Storage } from '../../base/seams.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { settle } from '../../store/retry-transaction.ts';
import type { Store, TxnResult } from '../../store/store.ts';
import { checkpointPath, type FilePlace } from '../file/paths.ts';
import { type Cut, protectedByCut } from './cut.ts';
import {
  type CheckpointEntry,
  type Generation,
  generationsOf,
  parseEntry,
  type ReadEntry,
  readEntry,
} from './entry.ts';
import { filesOfKept } from './kept-key.ts';
import { encodeParting, type PartingFiles } from './partings.ts';
import { type CheckpointKeys, type ReadCheckpointKeys, readCheckpointKeys } from './read-keys.ts';
import { retain } from './retention.ts';

export interface StoreAccess {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Called at each attempt that the store did not answer. */
  readonly onWaiting?: (error: PaddletError) => void;
}

export interface PublishOptions extends StoreAccess {
  /** Fence of the writer's claim: `/ps/<index>`. */
  readonly fence: Fence;
  readonly keys: CheckpointKeys;
  /** Index of the writer. */
  readonly index: number;
  readonly generation: Generation;
  readonly keep: number;
  /**
   * Reads the names of the files that stay, whatever `keep` is: those that heads name as the last state, and those that
   * others are reading. No head comes to name one of the others later, since only its writer can make one do so. Asked
   * again when the store did not answer.
   */
  readonly readStaying: () => Promise<ReadonlySet<string>>;
}

export interface Published {
  readonly entry: CheckpointEntry;
  /** Files that this publish took out of the entry, and that no kept model has; only its caller may delete them. */
  readonly dropped: readonly string[];
  /** Set when the value before could not be parsed. It was replaced; none of its files is deleted. */
  readonly complaint: string | undefined;
}

/** Other writers of an entry are rare: a restore, another writer of this process. */
const CONFLICT_ATTEMPTS = 10;

/**
 * Puts the generation at the head of the entry. Waits while the store is unreachable. Throws `LeaseGone` if the writer
 * has lost its fence, `Interrupted` if the signal aborts, and `CheckpointNotWritten` if the entry does not list the
 * files that a delta builds on.
 */
export async function publish(options: PublishOptions): Promise<Published> {
  const { keep, generation } = options;
  let dropped: readonly string[] = [];
  const { entry, complaint } = await update(options, ({ before: { entry: before }, cut, kept, others, stays }) => {
    // An attempt in doubt had landed: what it dropped stays as computed then.
    if (before?.uuid === generation.uuid) return before;
    const earlier = before === undefined ? [] : generationsOf(before);
    expectParents(generation, earlier);
    const ofCut = protectedOf(cut, [generation, ...earlier]);
    const isProtected = ({ uuid }: Generation): boolean => ofCut.has(uuid) || stays.has(uuid);
    const retention = retain(generation, earlier, { keep, others, isProtected });
    const ofKept = filesOfKept(kept);
    dropped = retention.dropped.filter((uuid) => !ofKept.has(uuid));
    return { ...generation, keep, generations: retention.kept };
  });
  return { entry, dropped, complaint };
}

/** Without its parents, no process could load a delta. */
function expectParents({ uuid, parents = [] }: Generation, earlier: readonly Generation[]): void {
  const lacking = parents.find((parent) => earlier.every((one) => one.uuid !== parent));
  if (lacking === undefined) return;
  const message = `delta ${uuid} builds on ${lacking}, which the store no longer lists: the next checkpoint is a base`;
  throw new PaddletError('CheckpointNotWritten', message, { details: { lacking } });
}

/** Only files of sync mode have a round, and may be of a cut. `published`: newest first. */
const protectedOf = (cut: Cut, published: readonly Generation[]): ReadonlySet<string> =>
  published[0]?.round === undefined ? new Set() : protectedByCut(cut, published);

async function update(
  options: PublishOptions,
  change: (read: ReadRegistry) => CheckpointEntry,
): Promise<{ readonly entry: CheckpointEntry; readonly complaint: string | undefined }> {
  const { store, fence, keys, index } = options;
  const key = keys.checkpoint(index);
  for (let conflicts = 0; conflicts < CONFLICT_ATTEMPTS; conflicts++) {
    const read = await readSettled(options);
    const { before, kept } = read;
    const entry = change(read);
    const value = JSON.stringify(entry);
    const answer = await settle({
      ...options,
      run: () => {
        // Nothing is deleted that a master has kept since.
        const unchanged = [
          { key, modRevision: before.modRevision },
          { key: keys.kept, modRevision: kept.modRevision },
        ];
        return fencedTxn(store, fence, { if: unchanged, then: [{ put: key, value }] });
      },
      // This writer is the key's only one while the fence holds, and each of its values names its own newest file.
      happened: async () => (await store.get(key))?.value === value,
    });
    if (answer.succeeded) return { entry, complaint: before.complaint };
  }
  throw new PaddletError(
    'StoreInvalid',
    `${key}: other processes changed the key during each of ${CONFLICT_ATTEMPTS} attempts to write it`,
  );
}

interface ReadRegistry extends Pick<ReadCheckpointKeys, 'kept'> {
  readonly before: ReadEntry;
  readonly cut: Cut;
  /** Files of the other pservers. */
  readonly others: readonly Generation[];
  /** Files that heads name, or that are being read. */
  readonly stays: ReadonlySet<string>;
}

async function readSettled(options: PublishOptions): Promise<ReadRegistry> {
  const run = async () => ({ succeeded: true, read: await readRegistry(options) });
  const { result } = await settle({ ...options, run, happened: async () => false });
  assert(result !== undefined, 'a read is answered');
  return result.read;
}

async function readRegistry({ store, keys, index, readStaying }: PublishOptions): Promise<ReadRegistry> {
  const key = keys.checkpoint(index);
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  const found = entries.find((one) => one.key === key);
  // What another pserver has published cannot be read: then it replaces nothing.
  const { published, cut, kept } = readCheckpointKeys(keys, entries);
  const others = published.filter((one) => one.index !== index).flatMap(({ entry }) => generationsOf(entry));
  return { before: parseEntry(key, found), cut: cut.cut, kept, others, stays: await readStaying() };
}

/** Deletes files that a publish dropped. Returns those that cannot be deleted now; the next start removes them. */
export async function deleteDropped(
  storage: Storage,
  place: FilePlace,
  dropped: readonly string[],
): Promise<{ readonly path: string; readonly error: unknown }[]> {
  const failures: { path: string; error: unknown }[] = [];
  for (const uuid of dropped) {
    const path = checkpointPath(place, uuid);
    try {
      await storage.delete(path);
      failPoint('checkpoint.deleted');
    } catch (error) {
      failures.push({ path, error });
    }
  }
  return failures;
}

/**
 * After `publish` failed with `LeaseGone`: no attempt can land from now on, so the file is removed unless the entry
 * names it. True when it was removed.
 */
export async function removeUnpublished(
  options: Pick<PublishOptions, 'store' | 'keys'> & {
    readonly storage: Storage;
    readonly place: FilePlace;
    readonly uuid: string;
  },
): Promise<boolean> {
  const { storage, place, uuid, store, keys } = options;
  try {
    const { entry, complaint } = await readEntry(store, keys.checkpoint(place.index));
    const isNamed = entry !== undefined && generationsOf(entry).some((generation) => generation.uuid === uuid);
    if (complaint !== undefined || isNamed) return false;
  } catch (error) {
    // The next owner removes it as an orphan if nothing names it.
    if (isPaddletError(error, 'StoreUnavailable')) return false;
    throw error;
  }
  await storage.delete(checkpointPath(place, uuid));
  return true;
}

/**
 * Publishes a snapshot that an owner wrote after it had lost its index. The key is named by the owner's token and has
 * no other writer, so it needs no fence. Returns when the key exists.
 */
export async function publishParting(options: StoreAccess & PartingFiles & { readonly key: string }): Promise<void> {
  const { store, key } = options;
  const value = encodeParting(options);
  const happened = async (): Promise<boolean> => (await store.get(key))?.value === value;
  const run = (): Promise<TxnResult> => store.txn({ if: [{ key, createRevision: 0n }], then: [{ put: key, value }] });
  const { succeeded } = await settle({ ...options, run, happened });
  if (!succeeded) throw new PaddletError('StoreInvalid', `${key}: a parting snapshot of this token already exists`);
}
