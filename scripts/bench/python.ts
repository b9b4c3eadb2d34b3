/** The Python that has the library of a peer. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Debian's libraries are for Debian's Python. */
const PYTHONS = ['/usr/bin/python3', 'python3'];

/** The first that runs `code` without an error; undefined when none does. */
export async function findPython(code: string): Promise<string | undefined> {
  for (const python of PYTHONS) {
    try {
      await promisify(execFile)(python, ['-c', code]);
      return python;
    } catch {
      // No such Python, or none with the library.
    }
  }
  return undefined;
}
