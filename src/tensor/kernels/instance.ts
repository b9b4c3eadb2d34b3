/** Loads the WebAssembly kernels. Synchronous, from bytes inside the bundle. */
import { kernelsBase64 } from '../generated/kernels.ts';
import type { KernelExports } from './exports.ts';

export const WASM_PAGE_BYTES = 65_536;

/** One page less than 4 GiB, so that no address arithmetic in 32 bits can wrap. */
export const MAX_MEMORY_PAGES = 65_535;

const INITIAL_PAGES = 2;

export interface KernelInstance {
  readonly memory: WebAssembly.Memory;
  readonly exports: KernelExports;
}

let compiled: WebAssembly.Module | undefined;

/** A fresh instance with a memory of its own, which grows up to `maximumPages`; `grown` is called at once when it has. */
export function instantiateKernels(maximumPages: number = MAX_MEMORY_PAGES, grown = (): void => {}): KernelInstance {
  compiled ??= new WebAssembly.Module(Buffer.from(kernelsBase64, 'base64'));
  const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: maximumPages });
  const instance = new WebAssembly.Instance(compiled, { env: { memory, grown } });
  return { memory, exports: instance.exports as unknown as KernelExports };
}
