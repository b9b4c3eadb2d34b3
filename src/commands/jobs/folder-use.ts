/** How much a folder holds on this machine. */
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { logFolder } from '../base/job-logs.ts';

export interface FolderUse {
  readonly bytes: number;
  /** Seconds since 1970 of the last entry in a log. */
  readonly lastLog: number | undefined;
}

/**
 * A file with several names counts once. A file that a running job has just removed, and a folder that does not exist,
 * count as 0.
 */
export function folderUse(folder: string): FolderUse {
  const inodes = new Set<number>();
  const logs = logFolder(folder);
  let [bytes, lastMs] = [0, 0];
  const walk = (at: string): void => {
    for (const entry of entriesIn(at)) {
      const path = join(at, entry.name);
      // Links are not followed.
      if (entry.isDirectory()) walk(path);
      const found = entry.isFile() ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
      if (found === undefined || inodes.has(found.ino)) continue;
      inodes.add(found.ino);
      bytes += found.size;
      if (at === logs) lastMs = Math.max(lastMs, found.mtimeMs);
    }
  };
  walk(folder);
  return { bytes, lastLog: lastMs === 0 ? undefined : lastMs / 1000 };
}

function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
