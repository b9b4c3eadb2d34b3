/** Where the payloads of requests to a pserver land: in kernel memory, so that a push is applied from where it came to lie. */
import { isPaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { LandingAllocator } from '../../protocol/messages/channel.ts';
import type { Parameters, Staging } from '../../tensor/parameters.ts';

/** Below this a copy costs nothing. */
const SMALLEST_BYTES = 16 * 1024;
/**
 * So much of kernel memory at most: it is there for parameters, and does not shrink. What comes beyond it lands in ordinary
 * memory, and is copied when its turn comes.
 */
const MOST_BYTES = LIMITS.frameBytes;

/** `parameters` is undefined until the shards are loaded. */
export function landInParameters(parameters: () => Pick<Parameters, 'stage'> | undefined): LandingAllocator {
  let landed = 0;
  return (byteLength) => {
    if (byteLength < SMALLEST_BYTES || landed + byteLength > MOST_BYTES) return undefined;
    const staging = tryToStage(parameters(), byteLength);
    if (staging === undefined) return undefined;
    landed += byteLength;
    return {
      byteLength,
      bytes: () => staging.bytes(),
      onMoved: (run) => staging.onMoved(run),
      arrived: (count) => staging.arrived(count),
      free: () => {
        staging.free();
        landed -= byteLength;
      },
    };
  };
}

function tryToStage(parameters: Pick<Parameters, 'stage'> | undefined, byteLength: number): Staging | undefined {
  try {
    return parameters?.stage(byteLength);
  } catch (error) {
    // Requests that need no kernel memory are answered also when it is full.
    if (isPaddletError(error, 'OutOfMemory')) return undefined;
    throw error;
  }
}
