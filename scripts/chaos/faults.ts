/** Faults: which there are, and how each is done to a cluster. What comes when is drawn from a seed. */
import { DatabaseSync } from 'node:sqlite';
import type { RandomStream } from '../../src/data/synth/random-stream.ts';
import { isBusy, isSqliteError } from '../../src/store/sqlite/failures.ts';
import type { EtcdServer } from '../../test/etcd-server.ts';
import type { Cluster, RoleName, Slot } from './cluster.ts';

export type Target = RoleName | 'etcd' | 'sqlite';

export const TARGETS: readonly Target[] = ['master', 'pserver', 'trainer', 'etcd', 'sqlite'];

export const KINDS = [
  'killed',
  'stopped briefly',
  'stopped past its lease',
  'replaced while stopped',
  'asked to leave',
];
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
};

/** How often each is hit: the store's faults concern everybody at once. */
const SHARES: Readonly<Record<Target, number>> = { trainer: 4, master: 3, pserver: 4, etcd: 1, sqlite: 1 };

export interface Fault {
  readonly target: Target;
  readonly kind: Kind;
  /** Fractions in [0, 1) that the fault's choices are made of. */
  readonly which: number;
  readonly howLong: number;
  /** After the fault before. */
  readonly afterMs: number;
}

export function drawFault(random: RandomStream, targets: readonly Target[]): Fault {
  const target = pick(
    targets.map((one) => [one, SHARES[one]] as const),
    random.uniform(),
  );
  const kind = pick(MENU[target], random.uniform());
  const which = random.uniform();
  const howLong = random.uniform();
  // Mostly spread out; from time to time two at once.
  const afterMs = random.uniform() < 0.15 ? 0 : 200 + 1_300 * random.uniform();
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
  readonly sqlitePath: string | undefined;
  readonly leaseMs: number;
  readonly say: (line: string) => void;
  /** The ends of faults that still last: they are awaited. */
  readonly healing: Set<Promise<void>>;
}

/** False when there is nothing to do it to just now. */
export function strike(stage: Stage, fault: Fault): boolean {
  if (fault.target === 'etcd') return strikeEtcd(stage, fault);
  if (fault.target === 'sqlite') return strikeSqlite(stage, fault);
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
let isSqliteLocked = false;

function strikeSqlite({ sqlitePath, leaseMs, say, healing }: Stage, { kind, howLong }: Fault): boolean {
  if (sqlitePath === undefined || isSqliteLocked) return false;
  const forMs = kind === 'stopped briefly' ? leaseMs * (0.1 + 0.5 * howLong) : leaseMs * (1.2 + howLong);
  const database = new DatabaseSync(sqlitePath, { timeout: 20 });
  try {
    database.exec('BEGIN IMMEDIATE');
  } catch (error) {
    database.close();
    // A role that was stopped in the middle of a write has the lock already.
    if (isSqliteError(error) && isBusy(error)) return false;
    throw error;
  }
  isSqliteLocked = true;
  say(`fault: sqlite locked for ${Math.round(forMs)} ms`);
  heal(healing, forMs, () => {
    database.exec('ROLLBACK');
    database.close();
    isSqliteLocked = false;
  });
  return true;
}

function heal(healing: Set<Promise<void>>, afterMs: number, act: () => void | Promise<void>): void {
  const healed = new Promise<void>((resolve) => setTimeout(resolve, afterMs)).then(act);
  healing.add(healed);
  void healed.finally(() => healing.delete(healed));
}
