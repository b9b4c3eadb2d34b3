/** What goes wrong in a schedule: planned from the seed, started at its time, ended after a while. */
import type { Cluster } from './cluster.ts';
import { WITH_COPIES } from './copy-faults.ts';
import type { Dice } from './dice.ts';
import { type Action, anyone, happened, membersOf, type PlannedFault } from './fault.ts';
import { COPY_KINDS, type FaultKind, type FaultMix, kindsIn } from './fault-kinds.ts';
import { KEYS } from './job-keys.ts';
import { IN_MOVES } from './move-faults.ts';
import { CHECKPOINTS_DIR } from './paths.ts';
import { RESIZING } from './resizing.ts';
import { letStrangerIn } from './stranger.ts';
import type { Supervisor } from './supervisor.ts';

const FEWEST = 5;
const MOST = 14;
/** When the last fault begins, at the latest. */
const HORIZON_MS = 6_000;

/** The job lasts longer, and it takes a while until all units have their copies. */
const COPIED_HORIZON_MS = 20_000;

export function planFaults(dice: Dice, mix: FaultMix): PlannedFault[] {
  const kinds = kindsIn(mix);
  const count = dice.whole(FEWEST, MOST);
  const horizonMs = dice.between(2_000, hasCopies(mix) ? COPIED_HORIZON_MS : HORIZON_MS);
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

const hasCopies = (mix: FaultMix): boolean => COPY_KINDS.some((kind) => mix[kind] > 0);

function draw(dice: Dice, mix: FaultMix, kinds: readonly FaultKind[]): FaultKind {
  let left = dice.fraction() * kinds.reduce((sum, kind) => sum + mix[kind], 0);
  for (const kind of kinds) {
    left -= mix[kind];
    if (left < 0) return kind;
  }
  return kinds.at(-1)!;
}

const hasDuration = (kind: FaultKind): boolean =>
  /^(stop|partition|one-way|pserver partition|swapped|slow|store|full|clock|stranger|absent)|in a (move|hand-over)$|after a promotion$/.test(
    kind,
  );

/** Mostly around the time of a lease, now and then longer than any patience. */
const durationMs = (dice: Dice): number =>
  dice.chance(0.12) ? dice.between(12_000, 25_000) : dice.between(100, 5_000);

export function unleash(cluster: Cluster, fault: PlannedFault): void {
  cluster.timeline.at(fault.atMs, () => {
    cluster.faultBegins();
    const end = ACTIONS[fault.kind](cluster, fault);
    cluster.timeline.after(end === undefined ? 0 : fault.forMs, () => {
      end?.();
      cluster.faultEnds();
    });
  });
}

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

const newestFileOf = (cluster: Cluster, { member }: Supervisor): string | undefined => {
  const entry = cluster.store.data.get(KEYS.checkpoint(member.index!));
  return entry && `${CHECKPOINTS_DIR}/${member.index}/${(JSON.parse(entry.value) as { readonly uuid: string }).uuid}`;
};

/** Changes a bit of the newest file; false when there is none. */
function corrupt(cluster: Cluster, fault: PlannedFault, target: Supervisor): boolean {
  const { dice } = fault;
  const path = newestFileOf(cluster, target);
  const content = path === undefined ? undefined : target.machine.disk.content(path);
  if (path === undefined || content === undefined) return false;
  const at = dice.whole(0, content.length - 1);
  happened(cluster, fault, `${target.member.name}: byte ${at} of ${path}`);
  target.machine.flip(path, at, 1 << dice.whole(0, 7));
  return true;
}

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
  ...RESIZING,
  ...IN_MOVES,
  ...WITH_COPIES,
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
    if (other === undefined) return undefined;
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
    const target = fault.dice.pick(membersOf(cluster, 'pserver'));
    // Damage to a file that is never loaded has no effect.
    if (corrupt(cluster, fault, target)) target.kill(fault.dice.chance(0.3));
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
  'absent folder': (cluster, fault) => {
    const target = fault.dice.pick(membersOf(cluster, 'pserver'));
    happened(cluster, fault, target.member.name);
    target.machine.unmount();
    // What is loaded already is not missed.
    if (fault.dice.chance(0.7)) target.kill(false);
    return () => target.machine.mount();
  },
  'early death': (cluster, fault) => {
    const { dice } = fault;
    const target = dice.pick(membersOf(cluster, 'pserver'));
    if (target.running === undefined) return undefined;
    const operation = dice.whole(1, 70);
    happened(cluster, fault, `${target.member.name}: its next life ends at operation ${operation}`);
    target.diesEarlyAt = operation;
    // The store takes its index: what it has in memory then is its last state.
    const way = dice.pick(['kill', 'terminate', 'cutOff'] as const);
    if (way === 'kill') target.kill(false);
    else if (way === 'terminate') target.terminate();
    else {
      const cancel = cluster.store.cutOff(target.member.name);
      cluster.timeline.after(4_000, cancel);
    }
    return undefined;
  },
  'slow store': (cluster, fault) => {
    happened(cluster, fault, 'its answers take long');
    return cluster.store.slowDown(fault.dice.between(100, 1_500));
  },
  'store without writes': (cluster, fault) => {
    const how = fault.dice.pick(['leases are renewed', 'leases stand still'] as const);
    happened(cluster, fault, `it reads but cannot write; ${how}`);
    return cluster.store.refuseWrites(how === 'leases are renewed');
  },
  'clock stop': (cluster, fault) => {
    const target = fault.dice.pick(cluster.supervisors.filter(({ member }) => member.role !== 'trainer'));
    const process = target.running;
    if (process === undefined || process.isStopped) return undefined;
    happened(cluster, fault, target.member.name);
    process.stop();
    process.stopClock();
    let isStill = true;
    cluster.network.stopped(process, () => isStill);
    return () => {
      isStill = false;
      if (process.isDead) return;
      cluster.witness.tell(process.name, 'runs again, and so does its clock');
      process.resume();
    };
  },
  stranger: (cluster, fault) => {
    happened(cluster, fault, 'sends what no role may send');
    return letStrangerIn(cluster, fault.dice);
  },
  'corrupt at rest': (cluster, fault) => {
    const target = fault.dice.pick(membersOf(cluster, 'pserver'));
    if (!target.terminate()) return undefined;
    target.onceEnded = () => void corrupt(cluster, fault, target);
    return undefined;
  },
  'death before the result': (cluster, fault) => {
    cluster.store.onceWriting(
      ({ put }) => put === KEYS.result,
      (process) => {
        const target = fault.dice.pick(membersOf(cluster, 'pserver'));
        if (!corrupt(cluster, fault, target)) return;
        target.terminate();
        cluster.timeline.after(fault.dice.between(2_000, 8_000), cluster.store.refuseWrites(true, process.name));
      },
    );
    return undefined;
  },
};
