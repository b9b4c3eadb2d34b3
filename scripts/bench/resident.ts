/** What of a process is in memory, and of whom. */
import { MiB } from './raw-tcp.ts';

export interface Resident {
  readonly rssMiB: number;
  /** V8's heap, with what of it is free. */
  readonly heapMiB: number;
  /** What of it objects have, dead ones too unless there was a collection. */
  readonly usedMiB: number;
  /** Buffers and WebAssembly memories that JavaScript refers to. */
  readonly externalMiB: number;
}

/**
 * Memory of this process, after a collection if it was started with `--expose-gc`. What is neither heap nor external is
 * code, stacks, and what the C allocator keeps for later.
 */
export function resident(): Resident {
  globalThis.gc?.();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return { rssMiB: rss / MiB, heapMiB: heapTotal / MiB, usedMiB: heapUsed / MiB, externalMiB: external / MiB };
}
