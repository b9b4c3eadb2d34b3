/** Waits between attempts to connect: doubling from `firstMs` to `capMs`, each shortened by up to half at random. */
import type { Random } from '../base/seams.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/** The wait before attempt `attempt` (1 is the first repeat), in milliseconds. */
export function backoffMs(attempt: number, { firstMs, capMs }: BackoffOptions, random: Random): number {
  const full = Math.min(capMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return full * (1 - random.fraction() / 2);
}
