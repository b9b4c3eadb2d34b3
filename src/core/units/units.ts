/**
 * Units: fixed groups of shards that are placed and moved together (docs/copies.md). The unit of a shard never changes.
 * A unit has one head, which names its primary and its in-sync set.
 */
import { assert } from '../../base/assert.ts';

/** Default number of units, unless `UNITS_A_PSERVER` for each pserver that the job may have is more. */
const USUAL_UNITS = 64;
export const UNITS_A_PSERVER = 4;

/** How the shards of a job are grouped. */
export interface Grouping {
  readonly shards: number;
  readonly units: number;
}

/** At most one unit per shard. */
export const defaultUnits = (shards: number, maxPservers: number): number =>
  Math.min(shards, Math.max(USUAL_UNITS, UNITS_A_PSERVER * maxPservers));

export const unitOf = (shard: number, units: number): number => shard % units;

/** Ascending. */
export function shardsOfUnit(unit: number, { shards, units }: Grouping): number[] {
  assert(unit < units && units <= shards, `unit ${unit} is one of ${units}, which have ${shards} shards`);
  return Array.from({ length: sizeOfUnit(unit, { shards, units }) }, (_, at) => unit + at * units);
}

/** Number of shards in a unit. */
export const sizeOfUnit = (unit: number, { shards, units }: Grouping): number => Math.ceil((shards - unit) / units);

/** Ascending. */
export const shardsOfUnits = (units: Iterable<number>, grouping: Grouping): number[] =>
  [...units].flatMap((unit) => shardsOfUnit(unit, grouping)).sort((a, b) => a - b);
