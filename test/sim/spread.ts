/** Whether the units are where the plan wants them. */
import type { Owner } from '../../src/cluster/placement/heads.ts';
import { parsePserverRecord } from '../../src/cluster/placement/pserver-record.ts';
import { movesOf, type PlannedPserver, planUnits } from '../../src/core/units/plan.ts';
import { type CopiedUnit, planCopies } from '../../src/core/units/plan-copies.ts';
import type { Cluster } from './cluster.ts';
import { KEYS } from './job-keys.ts';

/** Moves that the plan wants, for people; empty when all units are where they belong. */
export function movesLeft(cluster: Cluster): string[] {
  const pservers = livePservers(cluster);
  const units = ledUnits(cluster);
  if (cluster.shape.replicas > 1) return copiesLeft(cluster, units, pservers);
  const plan = planUnits({ units: units.map(({ inSync: _, ...unit }) => unit), pservers });
  const moves = pservers.flatMap(({ index }) => {
    const led = units.filter(({ leader }) => leader === index).map(({ unit }) => unit);
    return movesOf(plan, index, led).map(({ unit, to }) => `unit ${unit} from pserver ${index} to ${to}`);
  });
  const orphans = units
    .filter(({ leader }) => leader === undefined)
    .map(({ unit }) => `unit ${unit} to a live pserver`);
  return [...orphans, ...moves];
}

/** Units that have other copies than the plan wants. */
function copiesLeft({ shape }: Cluster, units: readonly CopiedUnit[], live: readonly PlannedPserver[]): string[] {
  const pservers = live.map((one) => ({ ...one, host: undefined, zone: undefined }));
  const plan = planCopies({ units, pservers, replicas: shape.replicas });
  return units.flatMap(({ unit, leader, inSync }) => {
    const { primary, backups = [] } = plan.get(unit) ?? {};
    const wanted = primary === undefined ? [] : [primary, ...backups];
    const isRight = leader === primary && [...inSync].sort().join() === [...wanted].sort().join();
    return isRight ? [] : [`unit ${unit} from pservers ${inSync.join(' ')} to ${wanted.join(' ')}`];
  });
}

function livePservers({ store }: Cluster): PlannedPserver[] {
  const { entries } = store.data.range({ prefix: KEYS.psPrefix });
  return entries.map(({ key }) => {
    const index = Number(key.slice(KEYS.psPrefix.length));
    return { index, leaving: recordOf(store.data.get(KEYS.pserver(index)))?.status === 'draining' };
  });
}

function ledUnits(cluster: Cluster): CopiedUnit[] {
  const { store, heads } = cluster;
  const isOwner = ({ index, token }: Owner): boolean =>
    store.data.get(KEYS.ps(index))?.createRevision.toString() === token;
  return heads.map(({ unit, head: { primary, inSync } }) => {
    const isLive = isOwner(primary);
    const copies = inSync.filter(isOwner).map(({ index }) => index);
    const record = recordOf(store.data.get(KEYS.pserver(primary.index)));
    const bytes = record?.units.find((one) => one.unit === unit)?.bytes ?? 0;
    return { unit, bytes, leader: isLive ? primary.index : undefined, last: primary.index, inSync: copies };
  });
}

const recordOf = (entry: { readonly key: string; readonly value: string } | undefined) =>
  entry && parsePserverRecord(entry.key, entry.value);
