/** Holds a writer to so many bytes a second, measured over the whole of what it writes. */
import type { Clock } from '../../../base/seams.ts';
import type { Pace } from '../../../checkpoint/file/safetensors/writer.ts';
import { pause } from '../../../store/backoff.ts';

/** From `hurried` on there is no bound any more: somebody waits for the writer to be done. */
export function createPace(clock: Clock, maxBytesPerSecond: number, hurried: AbortSignal): Pace {
  const startedMs = clock.monotonicMs();
  let written = 0;
  return async (bytes) => {
    const dueMs = startedMs + (written / maxBytesPerSecond) * 1000;
    written += bytes;
    const earlyMs = dueMs - clock.monotonicMs();
    if (earlyMs > 0) await pause(clock, earlyMs, hurried);
  };
}
