/** Ordinary memory for payloads, and the rule that a landing is given back exactly once, whoever asks first. */
import type { Landing, LandingAllocator } from './channel.ts';

/** The default: memory of the JavaScript heap's keeper, let go of when nothing refers to it. Contents are not zeroed. */
export const plainLanding: LandingAllocator = (byteLength) => {
  // Beyond the pool's slab size Node gives an allocation of its own; below, slices aligned to 8. Both suit typed arrays.
  const memory = Buffer.allocUnsafe(byteLength);
  return { byteLength, bytes: () => memory, free: () => {} };
};

/** Wraps a landing so that `free()` reaches it once; later calls do nothing. */
export function freedOnce(landing: Landing): Landing {
  let freed = false;
  return {
    byteLength: landing.byteLength,
    bytes: () => landing.bytes(),
    free: () => {
      if (freed) return;
      freed = true;
      landing.free();
    },
  };
}
