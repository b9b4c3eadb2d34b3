/** Whether a folder that a user named can be used, before anything is started. */
import { accessSync, constants, lstatSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Throws Node's error when nothing can be written below the folder. Does not make it: one that is missing may be a
 * mount that is not up, and its checkpoints must not be taken for lost.
 */
export function checkWritable(folder: string): void {
  let nearest = folder;
  // A link that leads nowhere is there: no folder can be made in its place.
  while (lstatSync(nearest, { throwIfNoEntry: false }) === undefined && dirname(nearest) !== nearest) {
    nearest = dirname(nearest);
  }
  accessSync(`${nearest}/.`, constants.W_OK | constants.X_OK);
}
