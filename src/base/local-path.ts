/** Paths as people write them for other programs, and that name nothing on a file system of this machine. */

const URL_START = /^([a-z][a-z0-9+.-]+):\/+/i;
/** What a shell would make a home folder of. */
const HOME = /^~[\w-]*(?:\/|$)/;

/** What to do about such a path; undefined for any other. */
export function notLocal(path: string): string | undefined {
  const [start, scheme] = URL_START.exec(path) ?? [];
  if (start !== undefined && scheme?.toLowerCase() === 'file') {
    return `only local files are read, and by their path: ${path.slice(start.length - 1)}`;
  }
  if (start !== undefined) return 'only local files are read: mount it, or copy it to this machine';
  return HOME.test(path) ? '~ is a home folder only where a shell reads it: write the path in full' : undefined;
}
