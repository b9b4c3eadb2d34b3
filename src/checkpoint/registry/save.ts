/** A save from beginning to end, in the only order that is safe: write, publish, delete. */
import { assert } from '../../base/assert.ts';
import { isPaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import { type CheckpointFile, type WriteCheckpointOptions, writeCheckpointFile } from '../file/capture.ts';
import { checkpointPath } from '../file/paths.ts';
import { generationOf } from './entry.ts';
import { deleteDropped, type Published, type PublishOptions, publish, removeUnpublished } from './publish.ts';

export interface SaveOptions extends WriteCheckpointOptions, Omit<PublishOptions, 'generation'> {}

export interface Saved extends Published {
  readonly file: CheckpointFile;
  /** Files dropped that the disk would not delete: they go as orphans at the next start. */
  readonly undeleted: readonly { readonly path: string; readonly error: unknown }[];
}

/**
 * Saves the shards and makes the file known. Throws the disk's own errors (nothing was published), `LeaseGone` when the
 * index belongs to another by now (the file is gone again), `Interrupted` when aborted while the store is away.
 */
export async function saveCheckpoint(options: SaveOptions): Promise<Saved> {
  const { disk, folder, meta, fence } = options;
  assert(meta.token === fence.token, 'a file carries the token it is published under');
  const place = { folder, index: meta.index };
  const file = await writeCheckpointFile(options);
  const published = await publish({ ...options, generation: generationOf(file, meta) }).catch(
    async (error: unknown) => {
      const { isDoubtful } = isPaddletError(error, 'Interrupted') ? error.details : { isDoubtful: undefined };
      // Given up before the store could have taken it.
      if (isDoubtful === false) await disk.remove(checkpointPath(place, meta.uuid));
      if (isPaddletError(error, 'LeaseGone')) await removeUnpublished({ ...options, place, uuid: meta.uuid });
      throw error;
    },
  );
  failPoint('checkpoint.published');
  const undeleted = await deleteDropped(disk, place, published.dropped);
  return { ...published, file, undeleted };
}
