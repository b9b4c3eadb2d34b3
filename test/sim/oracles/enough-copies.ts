/**
 * No update is acknowledged while its unit has fewer copies than `minInSync` wants. An answer may leave a while after
 * the update was committed: with those that wait for a copy that is being made, or by a process that stood still.
 */
import { isPaddletError } from '../../../src/base/errors.ts';
import { type Head, parseHead } from '../../../src/cluster/placement/heads.ts';
import type { LedUnits } from './led-units.ts';
import type { Answered, Oracle, World } from './oracle.ts';

const ANSWERED_WITHIN_MS = 15_000;

export function enoughCopies(world: World, led: LedUnits): Oracle {
  const { keys, minInSync } = world;
  /** By unit: since when its head names too few. */
  const few = new Map<number, number>();

  function named(unit: number, { inSync }: Head): void {
    if (inSync.length >= minInSync) few.delete(unit);
    else if (!few.has(unit)) few.set(unit, world.nowMs());
  }

  function applied(answered: Answered): void {
    for (const unit of led.meant(answered) ?? []) {
      const forMs = world.nowMs() - (few.get(unit) ?? world.nowMs());
      if (forMs > ANSWERED_WITHIN_MS)
        world.violated(
          `${answered.server.name} acknowledged an update of unit ${unit}, which has had fewer than ${minInSync} copies ` +
            `for ${Math.round(forMs)} ms`,
        );
    }
  }

  return {
    wrote({ key, value }) {
      if (minInSync > 1 && key.startsWith(keys.headsPrefix))
        named(Number(key.slice(keys.headsPrefix.length)), parseHead(key, value));
    },
    answered(answered) {
      const { server, outcome } = answered;
      if (minInSync === 1 || server.role !== 'pserver' || server.hadStoppedClock || isPaddletError(outcome)) return;
      if (outcome.type === 'push' && outcome.outcome === 'applied') applied(answered);
    },
  };
}
