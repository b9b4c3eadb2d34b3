/** Loads the WebAssembly kernels. Synchronous, from bytes inside the bundle. */
import { LIMITS } from '../../base/limits.ts';
import { kernelsBase64 } from '../generated/kernels.ts';
import type { KernelExports } from './exports.ts';

export const WASM_PAGE_BYTES = 65_536;

const INITIAL_PAGES = 2;

export interface KernelInstance {
  readonly memory: WebAssembly.Memory;
  readonly exports: KernelExports;
}

let compiled: WebAssembly.Module | undefined;

/** A fresh instance with separate memory, which grows up to `maximumPages`; `grown` is called at once when it has. */
export function instantiateKernels(
  maximumPages: number = LIMITS.kernelMemoryPages,
  grown = (): void => {},
): KernelInstance {
  return instantiate(new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: maximumPages }), grown);
}

/**
 * The same with a memory that never grows, of `pages` or as many as the system lets it address: it takes memory of the
 * machine only where something is written.
 */
export function instantiateFixedKernels(pages: number = LIMITS.kernelMemoryPages): KernelInstance {
  for (let size = pages; ; size = Math.floor(size / 2)) {
    try {
      return instantiate(new WebAssembly.Memory({ initial: size, maximum: size }), () => {});
    } catch (error) {
      if (!(error instanceof RangeError) || size <= INITIAL_PAGES) throw error;
    }
  }
}

function instantiate(memory: WebAssembly.Memory, grown: () => void): KernelInstance {
  compiled ??= new WebAssembly.Module(Buffer.from(kernelsBase64, 'base64'));
  const instance = new WebAssembly.Instance(compiled, { env: { memory, grown } });
  return { memory, exports: instance.exports as unknown as KernelExports };
}
