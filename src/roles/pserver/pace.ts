/** Holds a writer to so many bytes a second, measured over the whole of what it writes. */
import type { Clock } from '../../base/seams.ts';
import type { Pace } from '../../checkpoint/safetensors-writer.ts';

export function createPace(clock: Clock, maxBytesPerSecond: number): Pace {
  const startedMs = clock.monotonicMs();
  let written = 0;
  return async (bytes) => {
    const dueMs = startedMs + (written / maxBytesPerSecond) * 1000;
    written += bytes;
    const earlyMs = dueMs - clock.monotonicMs();
    if (earlyMs <= 0) return;
    await new Promise<void>((resolve) => {
      clock.after(earlyMs, resolve);
    });
  };
}
