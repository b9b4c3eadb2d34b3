/** Whether the units are where the plan wants them. */
import { parsePserverRecord } from '../../src/cluster/placement/pserver-record.ts';
import { movesOf, type PlannedPserver, type PlannedUnit, planUnits } from '../../src/core/units/plan.ts';
import type { Cluster } from './cluster.ts';
import { KEYS } from './job-keys.ts';

/** Moves that the plan wants, for people; empty when all units are where they belong. */
export function movesLeft(cluster: Cluster): string[] {
  const pservers = livePservers(cluster);
  const units = ledUnits(cluster);
  const plan = planUnits({ units, pservers });
  const moves = pservers.flatMap(({ index }) => {
    const led = units.filter(({ leader }) => leader === index).map(({ unit }) => unit);
    return movesOf(plan, index, led).map(({ unit, to }) => `unit ${unit} from pserver ${index} to ${to}`);
  });
  const orphans = units
    .filter(({ leader }) => leader === undefined)
    .map(({ unit }) => `unit ${unit} to a live pserver`);
  return [...orphans, ...moves];
}

function livePservers({ store }: Cluster): PlannedPserver[] {
  const { entries } = store.data.range({ prefix: KEYS.psPrefix });
  return entries.map(({ key }) => {
    const index = Number(key.slice(KEYS.psPrefix.length));
    return { index, leaving: recordOf(store.data.get(KEYS.pserver(index)))?.status === 'draining' };
  });
}

function ledUnits(cluster: Cluster): PlannedUnit[] {
  const { store, heads } = cluster;
  return heads.map(({ unit, head: { primary } }) => {
    const isLive = store.data.get(KEYS.ps(primary.index))?.createRevision.toString() === primary.token;
    const record = recordOf(store.data.get(KEYS.pserver(primary.index)));
    const bytes = record?.units.find((one) => one.unit === unit)?.bytes ?? 0;
    return { unit, bytes, leader: isLive ? primary.index : undefined, last: primary.index };
  });
}

const recordOf = (entry: { readonly key: string; readonly value: string } | undefined) =>
  entry && parsePserverRecord(entry.key, entry.value);
