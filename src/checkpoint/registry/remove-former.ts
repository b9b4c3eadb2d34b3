/**
 * After a restore: the files that the new ones have replaced, but for those of models that are kept. A pserver removes
 * what nothing names from the folder of its own index when it starts, but with an index that the job no longer has none
 * starts.
 */
import type { Storage } from '../../base/seams.ts';
import type { Keys } from '../../store/keys.ts';
import { checkpointPath, indexFolder } from '../file/paths.ts';
import { parseCut } from './cut.ts';
import { parseEntries } from './discover.ts';
import { filesOfKept, parseKept } from './kept-key.ts';
import { publishedFiles } from './newest.ts';
import { parsePartings, withPartings } from './partings.ts';
import type { QuietJob } from './quiet-job.ts';

export interface FormerFiles {
  readonly storage: Storage;
  readonly folder: string;
  readonly keys: Keys;
  /** The job as it was before the restore. */
  readonly quiet: QuietJob;
}

/** To be called once the restored files are published. Returns those that cannot be removed. */
export async function removeFormer(
  options: FormerFiles,
): Promise<{ readonly path: string; readonly error: unknown }[]> {
  const { storage, folder } = options;
  const failures: { path: string; error: unknown }[] = [];
  const former = filesBefore(options);
  for (const { index, uuid } of former) {
    const path = checkpointPath({ folder, index }, uuid);
    try {
      await storage.delete(path);
    } catch (error) {
      failures.push({ path, error });
    }
  }
  for (const index of new Set(former.map((file) => file.index))) {
    await storage.delete(`${indexFolder({ folder, index })}/`);
  }
  return failures;
}

function filesBefore({ keys, quiet }: FormerFiles): { readonly index: number; readonly uuid: string }[] {
  const entries = publishedFiles(parseEntries(keys.checkpointsPrefix, quiet.entries));
  const published = withPartings(entries, parsePartings(keys.partingPrefix, quiet.partings));
  const { cut } = parseCut(keys.cut, quiet.cut);
  const kept = filesOfKept(parseKept(keys.kept, quiet.kept));
  const files = [
    ...published.map(({ index, generation: { uuid } }) => ({ index, uuid })),
    ...cut.files,
    ...(cut.before?.files ?? []),
  ];
  return files.filter(({ uuid }) => !kept.has(uuid));
}
