/** Placements of eight shards, each a unit. */
import type { PlacedPserver, Placement } from '../../../src/cluster/placement/placement-view.ts';

export const SHARDS = 8;

/** `led`: the epoch with which it began to lead these units. */
export const placedAt = (index: number, units: readonly number[], led = 1): PlacedPserver => ({
  index,
  token: BigInt(index),
  address: `pserver ${index}`,
  stamp: { revision: `${units.join()} since ${led}`, shards: units.length },
  units: units.map((unit) => ({ unit, led })),
});

export function placementOf(...pservers: PlacedPserver[]): Placement {
  const primaryOf = new Int32Array(SHARDS);
  pservers.forEach(({ units }, position) => {
    for (const { unit } of units) primaryOf[unit] = position;
  });
  versions += 1;
  return { version: versions, primaryOf, pservers };
}

let versions = 0;
