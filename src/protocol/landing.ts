/** Memory for payloads, and the rule that a landing is used until it is given back, exactly once, whoever asks first. */
import { assert } from '../base/assert.ts';
import type { Landing } from './channel.ts';

/** Wraps a landing so that `free()` reaches it once; later calls do nothing, and nobody sees its memory after it. */
export function freedOnce(landing: Landing): Landing {
  let freed = false;
  return {
    byteLength: landing.byteLength,
    fixed: landing.fixed === true,
    bytes: () => {
      assert(!freed, 'a landing is not used after it was freed');
      return landing.bytes();
    },
    arrived: (byteLength) => landing.arrived?.(byteLength),
    free: () => {
      if (freed) return;
      freed = true;
      landing.free();
    },
  };
}
