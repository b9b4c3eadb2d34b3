/** What goes wrong in a schedule: planned from the seed, started at its time, ended after a while. */
import type { Cancel } from '../../src/base/seams.ts';
import { type Cluster, KEYS, type Supervisor } from './cluster.ts';
import type { Dice } from './dice.ts';

/** How often each kind is drawn, relative to the others; 0 leaves it out. */
export type FaultMix = Readonly<Record<FaultKind, number>>;

export const FAULT_KINDS = [
  'kill trainer',
  'kill master',
  'kill pserver',
  'terminate trainer',
  'terminate master',
  'terminate pserver',
  'stop trainer',
  'stop master',
  'stop pserver',
  'break connection',
  'half-open connection',
  'partition',
  'one-way partition',
  'swapped addresses',
  'slow node',
  'store outage',
  'store standstill',
  'store cut off',
  'store trouble',
  'compaction',
  'corrupt checkpoint',
  'full disk',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export const DEFAULT_MIX: FaultMix = {
  'kill trainer': 4,
  'kill master': 3,
  'kill pserver': 2,
  'terminate trainer': 2,
  'terminate master': 1,
  'terminate pserver': 2,
  'stop trainer': 3,
  'stop master': 2,
  'stop pserver': 2,
  'break connection': 4,
  'half-open connection': 2,
  partition: 3,
  'one-way partition': 2,
  'swapped addresses': 0,
  'slow node': 2,
  'store outage': 2,
  'store standstill': 1,
  'store cut off': 3,
  'store trouble': 4,
  compaction: 2,
  'corrupt checkpoint': 0,
  'full disk': 0,
};

/** The same, and disks that fail: apart, so that the seeds that were kept stay the schedules they were. */
export const DISK_MIX: FaultMix = { ...DEFAULT_MIX, 'corrupt checkpoint': 6, 'full disk': 6 };

export const kindsIn = (mix: FaultMix): FaultKind[] => FAULT_KINDS.filter((kind) => mix[kind] > 0);

export interface PlannedFault {
  readonly kind: FaultKind;
  readonly atMs: number;
  /** 0 for what happens at once. */
  readonly forMs: number;
  /** Chooses the target, and how. */
  readonly dice: Dice;
  /** For kills: not at the time, but at this operation of the process after it. */
  readonly atOperation: number | undefined;
}

const FEWEST = 5;
const MOST = 14;
/** When the last fault begins, at the latest. */
const HORIZON_MS = 6_000;

export function planFaults(dice: Dice, mix: FaultMix): PlannedFault[] {
  const kinds = kindsIn(mix);
  const count = dice.whole(FEWEST, MOST);
  const horizonMs = dice.between(2_000, HORIZON_MS);
  return Array.from({ length: count }, () => {
    const kind = draw(dice, mix, kinds);
    const isKill = kind.startsWith('kill');
    return {
      kind,
      atMs: dice.between(100, horizonMs),
      forMs: hasDuration(kind) ? durationMs(dice) : 0,
      dice,
      atOperation: isKill && dice.chance(0.5) ? dice.whole(1, 60) : undefined,
    };
  });
}

function draw(dice: Dice, mix: FaultMix, kinds: readonly FaultKind[]): FaultKind {
  let left = dice.fraction() * kinds.reduce((sum, kind) => sum + mix[kind], 0);
  for (const kind of kinds) {
    left -= mix[kind];
    if (left < 0) return kind;
  }
  return kinds.at(-1)!;
}

const hasDuration = (kind: FaultKind): boolean => /^(stop|partition|one-way|swapped|slow|store|full)/.test(kind);

/** Mostly around the time of a lease, now and then longer than any patience. */
const durationMs = (dice: Dice): number =>
  dice.chance(0.12) ? dice.between(12_000, 25_000) : dice.between(100, 5_000);

export function unleash(cluster: Cluster, fault: PlannedFault): void {
  cluster.timeline.at(fault.atMs, () => {
    const end = ACTIONS[fault.kind](cluster, fault);
    if (end !== undefined) cluster.timeline.after(fault.forMs, end);
  });
}

/** Starts the fault and counts it; the returned function ends it. */
type Action = (cluster: Cluster, fault: PlannedFault) => Cancel | undefined;

const happened = (cluster: Cluster, { kind, forMs }: PlannedFault, where: string): void => {
  cluster.witness.count(`fault: ${kind}`);
  cluster.witness.tell('FAULT', `${kind}: ${where}${forMs > 0 ? ` for ${Math.round(forMs)} ms` : ''}`);
};

const membersOf = (cluster: Cluster, role: string): Supervisor[] =>
  cluster.supervisors.filter(({ member }) => member.role === role);

const anyone = (cluster: Cluster, { dice }: PlannedFault): Supervisor => dice.pick(cluster.supervisors);

const killing =
  (role: string): Action =>
  (cluster, fault) => {
    const target = fault.dice.pick(membersOf(cluster, role));
    const silently = fault.dice.chance(0.3);
    const kill = (how: string): void => {
      const name = target.member.name;
      if (target.running === undefined) return;
      happened(cluster, fault, `${name}${how}${silently ? ', silently' : ''}`);
      target.kill(silently);
    };
    const process = target.running;
    if (fault.atOperation === undefined || process === undefined) {
      kill('');
      return undefined;
    }
    const at = process.operations + fault.atOperation;
    process.onOperation = () => {
      if (process.operations === at) kill(` at its operation ${at}`);
    };
    return undefined;
  };

const terminating =
  (role: string): Action =>
  (cluster, fault) => {
    const target = fault.dice.pick(membersOf(cluster, role));
    if (target.terminate()) happened(cluster, fault, target.member.name);
    return undefined;
  };

const stopping =
  (role: string): Action =>
  (cluster, fault) => {
    const target = fault.dice.pick(membersOf(cluster, role));
    const process = target.running;
    if (process === undefined || process.isStopped) return undefined;
    happened(cluster, fault, target.member.name);
    process.stop();
    let isStill = true;
    cluster.network.stopped(process, () => isStill);
    return () => {
      isStill = false;
      if (process.isDead) return;
      cluster.witness.tell(process.name, 'runs again');
      process.resume();
    };
  };

const severing =
  (isHalfOpen: boolean): Action =>
  (cluster, fault) => {
    const all = [...cluster.network.connections];
    if (all.length === 0) return undefined;
    const { dice } = fault;
    const connection = dice.pick(all);
    happened(cluster, fault, `${connection.client.name} to ${connection.server.name}`);
    const clientHears = !isHalfOpen || dice.chance(0.5);
    connection.sever(clientHears, !isHalfOpen || !clientHears);
    return undefined;
  };

const parting =
  (bothWays: boolean): Action =>
  (cluster, fault) => {
    const { dice } = fault;
    const from = dice.pick(cluster.supervisors).member.name;
    const to = dice.pick(cluster.supervisors.filter(({ member }) => member.name !== from)).member.name;
    happened(cluster, fault, bothWays ? `${from} and ${to}` : `from ${from} to ${to}`);
    const ways = [cluster.network.block(from, to), ...(bothWays ? [cluster.network.block(to, from)] : [])];
    return () => {
      for (const open of ways) open();
    };
  };

const ACTIONS: Readonly<Record<FaultKind, Action>> = {
  'kill trainer': killing('trainer'),
  'kill master': killing('master'),
  'kill pserver': killing('pserver'),
  'terminate trainer': terminating('trainer'),
  'terminate master': terminating('master'),
  'terminate pserver': terminating('pserver'),
  'stop trainer': stopping('trainer'),
  'stop master': stopping('master'),
  'stop pserver': stopping('pserver'),
  'break connection': severing(false),
  'half-open connection': severing(true),
  partition: parting(true),
  'one-way partition': parting(false),
  'swapped addresses': (cluster, fault) => {
    const { name } = fault.dice.pick(membersOf(cluster, 'trainer')).member;
    const [one, other] = membersOf(cluster, 'pserver').map(({ member }) => member.name);
    happened(cluster, fault, `${name} reaches ${one} where ${other} was, and the other way round`);
    return cluster.network.swap(name, [one!, other!]);
  },
  'slow node': (cluster, fault) => {
    const target = anyone(cluster, fault);
    happened(cluster, fault, target.member.name);
    target.setSlowness(fault.dice.between(5, 30));
    return () => target.setSlowness(1);
  },
  'store outage': (cluster, fault) => {
    happened(cluster, fault, 'unreachable, leases run');
    return cluster.store.outage(true);
  },
  'store standstill': (cluster, fault) => {
    happened(cluster, fault, 'it stands still, and leases with it');
    return cluster.store.outage(false);
  },
  'store cut off': (cluster, fault) => {
    const { name } = anyone(cluster, fault).member;
    happened(cluster, fault, name);
    return cluster.store.cutOff(name);
  },
  'store trouble': (cluster, fault) => {
    happened(cluster, fault, 'calls fail, or seem to');
    return cluster.store.makeTrouble(fault.dice.between(0.1, 0.5));
  },
  compaction: (cluster, fault) => {
    happened(cluster, fault, 'all history');
    cluster.store.compact();
    return undefined;
  },
  'corrupt checkpoint': (cluster, fault) => {
    const { dice } = fault;
    const target = dice.pick(membersOf(cluster, 'pserver'));
    const { index } = target.member;
    const entry = cluster.store.data.get(KEYS.checkpoint(index!));
    const newest = entry && (JSON.parse(entry.value) as { readonly uuid: string }).uuid;
    const path = `/checkpoints/${index}/${newest}`;
    const content = target.machine.disk.content(path);
    if (content === undefined) return undefined;
    const at = dice.whole(0, content.length - 1);
    happened(cluster, fault, `${target.member.name}: byte ${at} of ${newest}`);
    target.machine.disk.flip(path, at, 1 << dice.whole(0, 7));
    // Damage to a file that is never loaded has no effect.
    target.kill(dice.chance(0.3));
    return undefined;
  },
  'full disk': (cluster, fault) => {
    const { dice } = fault;
    const { machine, member } = dice.pick(membersOf(cluster, 'pserver'));
    const spareBytes = dice.whole(0, 3000);
    happened(cluster, fault, `${member.name}: ${spareBytes} bytes left`);
    machine.fillUp(spareBytes);
    return () => machine.makeRoom();
  },
};
