/** Faults: which there are, and how each is done to a cluster. What comes when is drawn from a seed. */
import { DatabaseSync } from 'node:sqlite';
import type { RandomStream } from '../../src/data/synth/random-stream.ts';
import { isBusy, isSqliteError } from '../../src/store/sqlite/failures.ts';
import type { EtcdServer } from '../../test/etcd-server.ts';
import type { Cluster, Slot } from './cluster.ts';
import type { RoleName } from './ends.ts';
import type { DiskName, Places } from './places.ts';

/**
 * Besides roles and stores: the disks of the checkpoints and of an SQLite store, the folder of the checkpoints, and the
 * number of pservers.
 */
export type Target = RoleName | 'etcd' | 'sqlite' | DiskName | 'folder' | 'resize';

export const TARGETS: readonly Target[] = [
  'master',
  'pserver',
  'trainer',
  'etcd',
  'sqlite',
  'disk',
  'store-disk',
  'folder',
  'resize',
];

export const KINDS = [
  'killed',
  'stopped briefly',
  'stopped past its lease',
  'replaced while stopped',
  'asked to leave',
  'full',
  'gone',
  'asked for',
] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds by target, with their weights. */
const MENU: Readonly<Record<Target, readonly (readonly [Kind, number])[]>> = {
  trainer: [
    ['killed', 5],
    ['stopped briefly', 2],
    ['stopped past its lease', 3],
    ['asked to leave', 2],
  ],
  master: [
    ['killed', 5],
    ['stopped briefly', 2],
    ['stopped past its lease', 3],
    ['asked to leave', 1],
  ],
  pserver: [
    ['killed', 6],
    ['stopped briefly', 2],
    ['stopped past its lease', 2],
    ['replaced while stopped', 2],
    ['asked to leave', 2],
  ],
  etcd: [
    ['killed', 3],
    ['stopped briefly', 3],
    ['stopped past its lease', 1],
  ],
  // The file locked against all writers.
  sqlite: [
    ['stopped briefly', 3],
    ['stopped past its lease', 1],
  ],
  disk: [['full', 1]],
  'store-disk': [['full', 1]],
  folder: [['gone', 1]],
  resize: [['asked for', 1]],
};

/** How often each is hit: the faults of stores and disks concern everybody at once. */
const SHARES: Readonly<Record<Target, number>> = {
  trainer: 4,
  master: 3,
  pserver: 4,
  etcd: 1,
  sqlite: 1,
  disk: 1,
  'store-disk': 1,
  folder: 1,
  resize: 3,
};

export interface Fault {
  readonly target: Target;
  readonly kind: Kind;
  /** Fractions in [0, 1) that the fault's choices are made of. */
  readonly which: number;
  readonly howLong: number;
  /** After the fault before. */
  readonly afterMs: number;
}

/** `slower`: than the usual pace. */
export function drawFault(random: RandomStream, targets: readonly Target[], slower = 1): Fault {
  const target = pick(
    targets.map((one) => [one, SHARES[one]] as const),
    random.uniform(),
  );
  const kind = pick(MENU[target], random.uniform());
  const which = random.uniform();
  const howLong = random.uniform();
  // Mostly spread out; from time to time two at once.
  const afterMs = random.uniform() < 0.15 ? 0 : slower * (200 + 1_300 * random.uniform());
  return { target, kind, which, howLong, afterMs };
}

function pick<T>(options: readonly (readonly [T, number])[], fraction: number): T {
  let left = fraction * options.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [option, weight] of options) {
    left -= weight;
    if (left < 0) return option;
  }
  return options.at(-1)![0];
}

export interface Stage {
  readonly cluster: Cluster;
  readonly etcd: EtcdServer | undefined;
  readonly places: Places;
  /** Whether each pserver's index has a published checkpoint. */
  readonly isEachSaved: () => Promise<boolean>;
  /** Asks for another number of pservers. False when that could not be done. */
  readonly resize?: (which: number) => Promise<boolean>;
  readonly leaseMs: number;
  readonly say: (line: string) => void;
  /** The ends of faults that still last: they are awaited. */
  readonly healing: Set<Promise<void>>;
}

/** False when there is nothing to do it to just now. */
export async function strike(stage: Stage, fault: Fault): Promise<boolean> {
  if (fault.target === 'etcd') return strikeEtcd(stage, fault);
  if (fault.target === 'sqlite') return strikeSqlite(stage, fault);
  if (fault.target === 'disk' || fault.target === 'store-disk') return strikeDisk(stage, fault.target, fault);
  if (fault.target === 'folder') return strikeFolder(stage, fault);
  if (fault.target === 'resize') return (await stage.resize?.(fault.which)) ?? false;
  const awake = stage.cluster.awake(fault.target);
  const slot = awake[Math.floor(fault.which * awake.length)];
  if (slot === undefined) return false;
  if (fault.kind === 'replaced while stopped' && slot.replaced !== undefined) return false;
  strikeRole(stage, fault, slot);
  return true;
}

function strikeRole({ cluster, leaseMs, say, healing }: Stage, fault: Fault, slot: Slot): void {
  const { kind, howLong } = fault;
  const forMs = kind === 'stopped briefly' ? leaseMs * (0.1 + 0.6 * howLong) : leaseMs * (1.3 + 1.7 * howLong);
  const isBare = kind === 'killed' || kind === 'asked to leave';
  say(`fault: ${slot.spec.name} (pid ${slot.proc!.child.pid}) ${kind}${isBare ? '' : ` for ${Math.round(forMs)} ms`}`);
  if (kind === 'killed') cluster.kill(slot);
  else if (kind === 'asked to leave') cluster.term(slot);
  else {
    const wake = kind === 'replaced while stopped' ? cluster.replace(slot) : cluster.pause(slot);
    heal(healing, forMs, wake);
  }
}

function strikeEtcd({ etcd, leaseMs, say, healing }: Stage, { kind, howLong }: Fault): boolean {
  // One fault of the store at a time.
  if (etcd === undefined || etcdIsHurt.has(etcd)) return false;
  etcdIsHurt.add(etcd);
  const forMs =
    kind === 'killed'
      ? 2 * leaseMs * howLong
      : kind === 'stopped briefly'
        ? leaseMs * (0.1 + 0.5 * howLong)
        : leaseMs * (1.2 + howLong);
  say(`fault: etcd ${kind} for ${Math.round(forMs)} ms`);
  const hurt = kind === 'killed' ? etcd.kill() : etcd.pause();
  heal(healing, forMs, async () => {
    await hurt;
    if (kind === 'killed') await etcd.restart();
    else etcd.resume();
    etcdIsHurt.delete(etcd);
  });
  return true;
}

const etcdIsHurt = new Set<EtcdServer>();
/** Places that are full, locked or gone: each has one fault at a time. */
const hurtPlaces = new Set<'checkpoints' | 'sqlite'>();

function strikeSqlite({ places, leaseMs, say, healing }: Stage, { kind, howLong }: Fault): boolean {
  if (hurtPlaces.has('sqlite')) return false;
  const forMs = kind === 'stopped briefly' ? leaseMs * (0.1 + 0.5 * howLong) : leaseMs * (1.2 + howLong);
  const database = new DatabaseSync(places.sqlitePath, { timeout: 20 });
  try {
    database.exec('BEGIN IMMEDIATE');
  } catch (error) {
    database.close();
    // A role that was stopped in the middle of a write has the lock already.
    if (isSqliteError(error) && isBusy(error)) return false;
    throw error;
  }
  hurtPlaces.add('sqlite');
  say(`fault: sqlite locked for ${Math.round(forMs)} ms`);
  heal(healing, forMs, () => {
    database.exec('ROLLBACK');
    database.close();
    hurtPlaces.delete('sqlite');
  });
  return true;
}

/** From a part of a lease to several. */
const outageMs = (leaseMs: number, { howLong }: Fault): number => leaseMs * (0.3 + 4.2 * howLong);

function strikeDisk({ cluster, places, leaseMs, say, healing }: Stage, disk: DiskName, fault: Fault): boolean {
  const place = disk === 'disk' ? 'checkpoints' : 'sqlite';
  if (hurtPlaces.has(place)) return false;
  hurtPlaces.add(place);
  const forMs = outageMs(leaseMs, fault);
  say(`fault: the disk of the ${place === 'checkpoints' ? 'checkpoints' : 'store'} full for ${Math.round(forMs)} ms`);
  const restoreSaves = place === 'checkpoints' ? cluster.preventSaves() : () => {};
  const makeRoom = places.fill(disk);
  heal(healing, forMs, () => {
    makeRoom();
    restoreSaves();
    hurtPlaces.delete(place);
    say(`the disk of the ${place === 'checkpoints' ? 'checkpoints' : 'store'} has room again`);
  });
  return true;
}

/** A pserver that has published nothing yet makes the folder. All others must not, and wait for it. */
async function strikeFolder(stage: Stage, fault: Fault): Promise<boolean> {
  const { cluster, places, leaseMs, say, healing } = stage;
  if (hurtPlaces.has('checkpoints') || !(await stage.isEachSaved())) return false;
  hurtPlaces.add('checkpoints');
  const forMs = outageMs(leaseMs, fault);
  say(`fault: the folder of the checkpoints gone for ${Math.round(forMs)} ms`);
  const restoreSaves = cluster.preventSaves();
  const putBack = places.takeCheckpoints();
  heal(healing, forMs, () => {
    if (!putBack()) cluster.violation('the folder of the checkpoints was made again while it was gone');
    restoreSaves();
    hurtPlaces.delete('checkpoints');
    say('the folder of the checkpoints is back');
  });
  return true;
}

function heal(healing: Set<Promise<void>>, afterMs: number, act: () => void | Promise<void>): void {
  const healed = new Promise<void>((resolve) => setTimeout(resolve, afterMs)).then(act);
  healing.add(healed);
  void healed.finally(() => healing.delete(healed));
}
