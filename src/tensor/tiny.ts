/** Gradients without tiny floats, wherever they are: `kernels/assembly/tiny.ts` says why. */
import { memoryOf } from './array-memory.ts';

/** Below this magnitude a float is 0: the bound of the kernels. */
const TINY = 2 ** -100;

/** Makes those floats 0 that are tiny. NaN stays. */
export function dropTiny(floats: Float32Array): void {
  const memory = memoryOf(floats);
  if (memory !== undefined) {
    memory.heap.kernels.dropTiny(floats.length, floats.byteOffset);
    return;
  }
  for (let i = 0; i < floats.length; i++) if (Math.abs(floats[i]!) < TINY) floats[i] = 0;
}
