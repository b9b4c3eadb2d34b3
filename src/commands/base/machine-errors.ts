/** What the operating system refuses to a command: expected errors, not bugs. */
import { PaddletError } from '../../base/errors.ts';

const HINTS: Readonly<Record<string, string>> = {
  EACCES: 'make it accessible to this user, or choose another folder',
  EPERM: 'make it accessible to this user, or choose another folder',
  EROFS: 'the file system is read-only: choose another folder, or mount it for writing',
  ENOENT: 'check the path',
  ENOTDIR: 'a part of the path is a file: choose another folder',
  EEXIST: 'a file or a broken link has this name: choose another folder',
  EISDIR: 'the path is a folder: give the path of a file',
  ELOOP: 'check the symbolic links in the path',
  ENAMETOOLONG: 'choose a shorter path',
  ENOSPC: 'the disk is full: free space, or choose another folder',
  EDQUOT: "this user's disk quota is used up: free space, or choose another folder",
  EIO: 'the disk failed: see the log of the kernel (dmesg), or choose another folder',
  EMFILE: 'too many open files for one process: raise the limit (ulimit -n 4096)',
  ENFILE: 'too many open files on this machine: raise fs.file-max',
  EAGAIN: 'too many processes: raise the limit (ulimit -u)',
  ENOMEM: 'not enough memory: stop other processes, or use a larger machine',
};

/** What to do about a system call that was refused, by Node's error; undefined for other errors. */
export function systemHint(error: unknown): string | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === undefined || syscall === undefined ? undefined : HINTS[code];
}

/** Turns what Node reports of a refused system call into `SystemRefused`; leaves every other error as it is. */
export function fromSystem(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof PaddletError) return error;
  const hint = systemHint(error);
  if (hint === undefined) return error;
  return new PaddletError('SystemRefused', `the operating system refused a request: ${error.message}`, {
    hint,
    cause: error,
  });
}

const SHOWS_RESULT =
  'the job has ended and its result is in the store: `paddlet status` with the same --store, --chroot or --dir prints it';

function hintFor(commandId: string): string {
  if (commandId === 'run' || commandId === 'master') return SHOWS_RESULT;
  // It writes as it goes.
  if (commandId === 'predict') return 'some scores were not written: run the command again with another output';
  return 'the command itself succeeded: run it again with another output';
}

export function outputFailed(cause: Error, commandId: string): PaddletError {
  return new PaddletError('OutputFailed', `the output could not be written: ${cause.message}`, {
    hint: hintFor(commandId),
    cause,
  });
}
