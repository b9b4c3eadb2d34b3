/** Pservers that come and go while the job runs, and what comes between them. */
import type { Cluster } from './cluster.ts';
import { type Action, happened, membersOf, type PlannedFault } from './fault.ts';
import type { ResizingKind } from './fault-kinds.ts';
import { KEYS } from './job-keys.ts';
import type { Supervisor } from './supervisor.ts';

/** How long after another number is asked for a process is started. */
const LATER_MS = [0, 2_000] as const;
/** How much longer what pservers say to each other may be under way. */
const SLOWER = [20, 150] as const;

const isStaying = ({ isLeaving }: Supervisor): boolean => !isLeaving;

/** So many others stay that the job wants as it needs at least. */
function mayLeave(cluster: Cluster, target: Supervisor): boolean {
  const { desired = 0 } = cluster;
  const others = membersOf(cluster, 'pserver').filter((one) => one !== target && isStaying(one));
  const wanted = others.filter(({ member }) => member.index! < desired);
  return isStaying(target) && wanted.length >= cluster.shape.minInSync;
}

function setDesired({ store }: Cluster, desired: number): void {
  store.data.txn({ if: [], then: [{ put: KEYS.psDesired, value: String(desired) }] });
}

/** Those that are wanted come; those that are not wanted any more go by themselves. False when nothing changes. */
export function resize(cluster: Cluster, fault: PlannedFault): boolean {
  const { dice } = fault;
  const before = cluster.desired;
  const desired = dice.whole(cluster.shape.minInSync, cluster.shape.mostPservers);
  if (before === undefined || desired === before) return false;
  cluster.witness.tell('FAULT', `the job is to have ${desired} pservers, not ${before}`);
  setDesired(cluster, desired);
  for (const one of cluster.supervisors) {
    const { index } = one.member;
    const atMs = cluster.timeline.nowMs + dice.between(...LATER_MS);
    if (index !== undefined && index < desired) one.join(atMs);
  }
  return true;
}

const twoPservers = (cluster: Cluster, { dice }: PlannedFault): [string, string] | undefined => {
  const names = membersOf(cluster, 'pserver').map(({ member }) => member.name);
  const from = dice.pick(names);
  const others = names.filter((name) => name !== from);
  return others.length === 0 ? undefined : [from, dice.pick(others)];
};

export const RESIZING: Readonly<Record<ResizingKind, Action>> = {
  resize: (cluster, fault) => {
    if (resize(cluster, fault)) cluster.witness.count(`fault: ${fault.kind}`);
    return undefined;
  },
  'join pserver': (cluster, fault) => {
    const { desired } = cluster;
    const away = cluster.supervisors.filter(({ isAway }) => isAway);
    if (away.length === 0 || desired === undefined) return undefined;
    const target = fault.dice.pick(away);
    const index = target.member.index!;
    happened(cluster, fault, target.member.name);
    // Those below it come later, or never.
    if (index >= desired) setDesired(cluster, index + 1);
    target.join(cluster.timeline.nowMs);
    return undefined;
  },
  'leave pserver': (cluster, fault) => {
    const target = fault.dice.pick(membersOf(cluster, 'pserver'));
    if (!mayLeave(cluster, target)) return undefined;
    happened(cluster, fault, target.member.name);
    target.leave();
    return undefined;
  },
  'pserver partition': (cluster, fault) => {
    const [from, to] = twoPservers(cluster, fault) ?? [];
    if (from === undefined || to === undefined) return undefined;
    const bothWays = fault.dice.chance(0.6);
    happened(cluster, fault, bothWays ? `${from} and ${to}` : `from ${from} to ${to}`);
    const ways = [cluster.network.block(from, to), ...(bothWays ? [cluster.network.block(to, from)] : [])];
    return () => {
      for (const open of ways) open();
    };
  },
  'slow peers': (cluster, fault) => {
    happened(cluster, fault, 'what pservers say to each other is long under way');
    return cluster.network.slowPeers(fault.dice.between(...SLOWER));
  },
};
