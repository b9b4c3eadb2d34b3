/**
 * How the units of a job are spread over its pservers, and what is still to move: worked out from the claims of the
 * indexes, the heads and what the pservers say of themselves. By the same plan as the pservers move them.
 */
import { movesOf, type PlannedPserver, type PlannedUnit, planUnits } from '../../core/units/plan.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue } from '../../store/store.ts';
import { type CopiesWanted, type LackingUnit, lackingCopies } from './lacking-copies.ts';
import { type PlaceLabels, type PserverRecord, parsePserverRecord } from './pserver-record.ts';
import { byKey, indexAfter, placesIn, type UnitPlace } from './unit-places.ts';
import { type UnitSizes, unitSizesIn } from './unit-sizes.ts';

/** What a live pserver has. */
export interface PserverShare {
  readonly index: number;
  /** Status that the pserver reports; undefined until it has. */
  readonly status: PserverRecord['status'] | undefined;
  /** Its units move to other pservers: its index is not wanted, or it is being stopped. */
  readonly isLeaving: boolean;
  readonly units: number;
  /** Units that others lead and of which it has a copy in sync. */
  readonly copies: number;
  /** Bytes of its units; may be slightly outdated. */
  readonly bytes: number;
  readonly labels: PlaceLabels;
}

export interface Spread {
  /** Number of units of the job. */
  readonly units: number;
  /** Sorted by index. */
  readonly pservers: readonly PserverShare[];
  /** Wanted indexes without a live pserver. */
  readonly missing: readonly number[];
  /** Units without a live primary. */
  readonly orphans: number;
  /** Units whose place is with another live pserver. */
  readonly toMove: number;
  /** Units with fewer live copies than are wanted, where more than one is. */
  readonly lacking: readonly LackingUnit[];
  /** The size of every led unit is known from its primary. */
  readonly isTold: boolean;
}

export interface SpreadKeys {
  /** Entries under `/ps/`, `/heads/` and `/pservers/`. */
  readonly owners: readonly KeyValue[];
  readonly heads: readonly KeyValue[];
  readonly records: readonly KeyValue[];
}

export interface SpreadJob {
  readonly units: number;
  readonly desired: number;
  /** Undefined: one of each unit. */
  readonly copies?: CopiesWanted | undefined;
}

const ONE_COPY: CopiesWanted = { replicas: 1, minInSync: 1 };

export function spreadOf(keys: Keys, job: SpreadJob, found: SpreadKeys): Spread {
  const { copies = ONE_COPY } = job;
  const owners = new Map(found.owners.map((entry) => [indexAfter(keys.psPrefix, entry), entry]));
  const records = recordsOf(keys, found.records, owners);
  const places = placesIn(keys, job, { owners: byKey(found.owners), heads: byKey(found.heads) });
  const units = ledUnitsIn(places, unitSizesIn(records), copies);
  const live = [...owners.keys()].sort((a, b) => a - b);
  const pservers = live.map((index): PserverShare => {
    const record = records.get(index);
    const own = units.filter(({ leader }) => leader === index);
    const { hostLabel, zone } = record ?? {};
    return {
      ...{ index, status: record?.status, units: own.length, copies: copiesAt(index, units) },
      isLeaving: index >= job.desired || record?.status === 'draining',
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
      labels: { ...(hostLabel === undefined ? {} : { hostLabel }), ...(zone === undefined ? {} : { zone }) },
    };
  });
  return {
    ...{ units: job.units, pservers },
    missing: Array.from({ length: job.desired }, (_, index) => index).filter((index) => !owners.has(index)),
    orphans: units.filter(({ leader }) => leader === undefined).length,
    toMove: toMoveOf(units, pservers),
    lacking: copies.replicas === 1 ? [] : lackingCopies(places, copies),
    isTold: units.every(({ leader, isTold }) => leader === undefined || isTold),
  };
}

interface LedUnit {
  readonly unit: number;
  /** Index of its live primary. */
  readonly leader: number | undefined;
  /** As its primary says, or until then another. */
  readonly bytes: number;
  /** The primary has said so. */
  readonly isTold: boolean;
  readonly last: number | undefined;
  /** Indexes of the live pservers that have all of it; empty where each unit has one copy. */
  readonly inSync: readonly number[];
}

/**
 * The record of a former process says nothing about the process that has the index now, until that one has written its
 * own.
 */
function recordsOf(
  keys: Keys,
  entries: readonly KeyValue[],
  owners: ReadonlyMap<number, KeyValue>,
): Map<number, PserverRecord> {
  const records = new Map<number, PserverRecord>();
  for (const entry of entries) {
    const index = indexAfter(keys.pserversPrefix, entry);
    const owner = owners.get(index);
    if (owner !== undefined && entry.modRevision > owner.createRevision)
      records.set(index, parsePserverRecord(entry.key, entry.value));
  }
  return records;
}

const ledUnitsIn = (places: readonly UnitPlace[], sizes: UnitSizes, { replicas }: CopiesWanted): LedUnit[] =>
  places.map(({ unit, last, owner, copies }) => {
    const leader = owner === undefined ? undefined : last;
    const isTold = leader !== undefined && sizes.toldBy(leader, unit) !== undefined;
    const inSync = replicas === 1 ? [] : copies.map(({ index }) => index);
    return { unit, leader, bytes: sizes.of(unit, leader) ?? 0, isTold, last, inSync };
  });

const copiesAt = (index: number, units: readonly LedUnit[]): number =>
  units.filter(({ leader, inSync }) => leader !== index && inSync.includes(index)).length;

function toMoveOf(units: readonly LedUnit[], pservers: readonly PserverShare[]): number {
  const planned = units.map(({ isTold: _, ...unit }): PlannedUnit => unit);
  const plan = planUnits({
    units: planned,
    pservers: pservers.map(({ index, isLeaving }): PlannedPserver => ({ index, leaving: isLeaving })),
  });
  return pservers.reduce((sum, { index }) => {
    const led = units.filter(({ leader }) => leader === index).map(({ unit }) => unit);
    return sum + movesOf(plan, index, led).length;
  }, 0);
}
