/**
 * A save from beginning to end, in the only order that is safe: write under a temporary name, sync, read back, rename,
 * sync the folder (`file/write-durable-file.ts`), publish, and only then delete what is replaced (`publish.ts`).
 */
import { assert } from '../../base/assert.ts';
import { isPaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import { checkpointPath } from '../file/paths.ts';
import { type CheckpointFile, type WriteCheckpointOptions, writeCheckpointFile } from '../file/write-durable-file.ts';
import { generationOf } from './entry.ts';
import { deleteDropped, type Published, type PublishOptions, publish, removeUnpublished } from './publish.ts';

export interface SaveOptions extends WriteCheckpointOptions, Omit<PublishOptions, 'generation' | 'index'> {}

export interface Saved extends Published {
  readonly file: CheckpointFile;
  /** Dropped files that the disk did not delete: the next start removes them as orphans. */
  readonly undeleted: readonly { readonly path: string; readonly error: unknown }[];
}

/**
 * Saves the shards and publishes the file. Throws the disk's own errors (nothing was published), `LeaseGone` when
 * another owns the index by now (the file was removed), `Interrupted` when aborted while the store is unreachable.
 */
export async function saveCheckpoint(options: SaveOptions): Promise<Saved> {
  const { storage, folder, meta, fence } = options;
  assert(meta.token === fence.token, 'a file carries the token it is published under');
  const place = { folder, index: meta.index };
  const file = await writeCheckpointFile(options);
  const published = await publish({ ...options, index: meta.index, generation: generationOf(file, meta) }).catch(
    async (error: unknown) => {
      const { isDoubtful } = isPaddletError(error, 'Interrupted') ? error.details : { isDoubtful: undefined };
      // Abandoned before the store could have taken it, or not offered to the store.
      if (isDoubtful === false || isPaddletError(error, 'CheckpointNotWritten'))
        await storage.delete(checkpointPath(place, meta.uuid));
      if (isPaddletError(error, 'LeaseGone')) await removeUnpublished({ ...options, place, uuid: meta.uuid });
      throw error;
    },
  );
  failPoint('checkpoint.published');
  const undeleted = await deleteDropped(storage, place, published.dropped);
  return { ...published, file, undeleted };
}
