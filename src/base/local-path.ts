/** Paths as people write them for shells and other programs. */
import { homedir } from 'node:os';
import { PaddletError } from './errors.ts';

const URL_START = /^([a-z][a-z0-9+.-]+):\/+/i;
/** What a shell would make a home folder of: that of another user, after `atHome`. */
const HOME = /^~[\w-]*(?:\/|$)/;

/** `~` and `~/x` as a shell has them, which does not look into `--output=~/x`, a job file or a variable. */
export const atHome = (path: string): string => path.replace(/^~(?=\/|$)/, () => homeFolder(path));

/** Throws `Usage` when the environment has no HOME, and the password database no entry of this user. */
function homeFolder(path: string): string {
  try {
    return homedir();
  } catch (cause) {
    throw new PaddletError('Usage', `${path}: cannot expand ~: this user has no home folder`, {
      hint: 'set HOME, or write the path in full',
      cause,
    });
  }
}

/** What to do about a path that names nothing on a file system of this machine; undefined for any other. */
export function notLocal(path: string): string | undefined {
  const [start, scheme] = URL_START.exec(path) ?? [];
  if (start !== undefined && scheme?.toLowerCase() === 'file') {
    return `paddlet reads only local files, by path: ${path.slice(start.length - 1)}`;
  }
  if (start !== undefined) return 'mount the file, or copy it to this machine';
  return HOME.test(path) ? 'only a shell expands ~ to a home folder: write the path in full' : undefined;
}
