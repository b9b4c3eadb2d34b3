/** Lets payloads of requests arrive directly in kernel memory, so that the pserver applies pushes without copying. */
import { isPaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { LandingAllocator } from '../../../protocol/messages/channel.ts';
import type { Parameters, Staging } from '../../../tensor/parameters.ts';

/** Smaller payloads are copied, which costs little. */
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
    // Kernel memory is full, but the pserver can still answer requests that do not need it.
    if (isPaddletError(error, 'OutOfMemory')) return undefined;
    throw error;
  }
}
