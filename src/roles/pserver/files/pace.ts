/** Limits a writer to so many bytes a second, measured over everything that it writes. */

import { pause } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/seams.ts';
import type { Pace } from '../../../checkpoint/file/safetensors/writer.ts';

/** The limit ends when `unlimited` aborts: this process waits for the writer in order to stop. */
export function createPace(clock: Clock, maxBytesPerSecond: number, unlimited: AbortSignal): Pace {
  const startedMs = clock.monotonicMs();
  let written = 0;
  return async (bytes) => {
    const dueMs = startedMs + (written / maxBytesPerSecond) * 1000;
    written += bytes;
    const earlyMs = dueMs - clock.monotonicMs();
    if (earlyMs > 0) await pause(clock, earlyMs, unlimited);
  };
}
