/** What of a process is in memory, and of whom. */
import { MiB } from './raw-tcp.ts';

export interface Resident {
  readonly rssMiB: number;
  /** V8's heap, with what of it is free. */
  readonly heapMiB: number;
  /** Buffers and WebAssembly memories that JavaScript refers to. */
  readonly externalMiB: number;
}

/** Of this process. What is neither heap nor external is code, stacks, and what the C allocator keeps for later. */
export function resident(): Resident {
  const { rss, heapTotal, external } = process.memoryUsage();
  return { rssMiB: rss / MiB, heapMiB: heapTotal / MiB, externalMiB: external / MiB };
}
