/** How large the units of a job are, as their pservers say in their records. */
import type { PserverRecord } from './pserver-record.ts';

export interface UnitSizes {
  /** As this pserver says; undefined when it says nothing of the unit. */
  toldBy(index: number, unit: number): number | undefined;
  /** As its leader says, or else the most that any other says; undefined when none says anything. */
  of(unit: number, leader: number | undefined): number | undefined;
}

/** `records` by index. */
export function unitSizesIn(records: ReadonlyMap<number, PserverRecord>): UnitSizes {
  /** Unit → index → bytes. */
  const sizes = new Map<number, Map<number, number>>();
  for (const [index, { units }] of records) {
    for (const { unit, bytes } of units) {
      const told = sizes.get(unit) ?? new Map<number, number>();
      sizes.set(unit, told.set(index, bytes));
    }
  }
  const toldBy = (index: number, unit: number): number | undefined => sizes.get(unit)?.get(index);
  return {
    toldBy,
    of(unit, leader) {
      const told = sizes.get(unit);
      if (told === undefined) return undefined;
      return (leader === undefined ? undefined : told.get(leader)) ?? Math.max(...told.values());
    },
  };
}
