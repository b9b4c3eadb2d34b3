import { PaddletError } from '../../base/errors.ts';
import { atHome, notLocal } from '../../base/local-path.ts';

/** The parser of `--chroot`. */
export async function chrootPrefix(chroot: string): Promise<string> {
  if (/^\/[^\0]*[^/\0]$/.test(chroot)) return chroot;
  throw new PaddletError('Usage', `${chroot} must start with / and not end with /`);
}

/** The parser of a flag that names a folder, which may not exist yet: else `s3:` or `~ann` would be made here. */
export async function localFolder(named: string): Promise<string> {
  const folder = atHome(named);
  const hint = notLocal(folder);
  if (hint === undefined) return folder;
  throw new PaddletError('Usage', `${folder} is not a folder on this machine`, { hint });
}
