import { PaddletError } from '../../base/errors.ts';
import { notLocal } from '../../base/local-path.ts';

/** The parser of a flag that names a folder, which may not exist yet: else `s3:` or `~` would be made here. */
export async function localFolder(folder: string): Promise<string> {
  const hint = notLocal(folder);
  if (hint === undefined) return folder;
  throw new PaddletError('Usage', `${folder} is no folder of this machine`, { hint });
}
