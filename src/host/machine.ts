/** The resources of this machine, for `paddlet doctor`. */
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';

export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
  /** Memory limit of this process; in a container often less than `memoryBytes`. */
  readonly memoryLimitBytes: number | undefined;
}

export function machine(): Machine {
  const limit = process.constrainedMemory();
  return {
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    // Without a limit Linux answers 0 or a number beyond any memory.
    memoryLimitBytes: limit > 0 && limit < totalmem() ? limit : undefined,
  };
}

/** Threads that this process may run at once: the cores of the machine, or as many as its cgroup grants. */
export const grantedThreads = (): number => availableParallelism();

/** Bytes that an ordinary user can still write where `path` is. Node's errors. */
export async function freeDiskBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
