/** Where the payloads of requests to a pserver land: in kernel memory, so that a push is applied without a copy. */
import { isPaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { LandingAllocator } from '../../../protocol/messages/channel.ts';
import type { Parameters, Staging } from '../../../tensor/parameters.ts';

/** Copying less than this costs nothing. */
const SMALLEST_BYTES = 16 * 1024;

/** `parameters()` is undefined until the shards are loaded. */
export function landInParameters(parameters: () => Pick<Parameters, 'stage'> | undefined): LandingAllocator {
  let landed = 0;
  return (byteLength) => {
    if (byteLength < SMALLEST_BYTES || landed + byteLength > LIMITS.landedBytes) return undefined;
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
    // Requests that need no kernel memory are answered even when it is full.
    if (isPaddletError(error, 'OutOfMemory')) return undefined;
    throw error;
  }
}
