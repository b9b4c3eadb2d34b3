/**
 * A cluster of the real roles without faults, on a simulated network with bandwidth and latency, in simulated time. It
 * is looked at when all trainers are under way and none has run out of tasks.
 */
import { isPaddletError } from '../../../src/base/errors.ts';
import { Cluster } from '../../../test/sim/cluster.ts';
import { KEYS } from '../../../test/sim/job-keys.ts';
import type { Answered } from '../../../test/sim/oracles/oracle.ts';
import type { RoleName, SimulatedProcess } from '../../../test/sim/process.ts';
import { Timeline, turn } from '../../../test/sim/timeline.ts';
import { Witness } from '../../../test/sim/witness.ts';
import { createSimulatedDisk } from '../../../test/simulated-disk.ts';
import type { Demand } from './demand.ts';
import { type LinkSpeed, Links, type LinkUse } from './links.ts';
import { messageCostsOf } from './message-costs.ts';
import { OneCore } from './processor.ts';
import { DATA_PATH, type SimulatedJob, shapeOf, simulatedData, simulatedWorkload } from './simulated-job.ts';
import type { ClusterSize } from './walls.ts';

export interface Simulated {
  readonly recordsPerSecond: number;
  /** Share of the time that a process computes: the mean of the trainers, the busiest pserver, the master. */
  readonly busy: Readonly<Record<RoleName, number>>;
  /** The share of its link's bandwidth that the busiest process of a role uses, in the busier direction. */
  readonly linkBusy: Readonly<Record<RoleName, number>>;
  /** Requests a second of the busiest pserver, and of the master. */
  readonly pserverRequests: number;
  readonly masterRequests: number;
  /** Bytes a second over the link of the busiest pserver, both ways. */
  readonly pserverBytes: number;
  /** Transactions a second that the master wrote. */
  readonly transactions: number;
  readonly virtualMs: number;
  readonly realSeconds: number;
}

const SEED = 1;
const LIMIT_MS = 3_600_000;
/**
 * Pushes and tasks of each trainer, whatever is more. It holds up to eight tasks, so the first ones are dealt at once:
 * those count that come when that is over, and before the tasks run out. With few of them, one dealt at once is a part
 * of the rate.
 */
const PUSHES = 96;
const TASKS = 12;
const FROM = 0.5;
const TO = 0.85;

/** No oracle looks for violations here: it counts what the master writes, and the pushes of one pserver. */
class Counts extends Witness {
  pushes = 0;
  transactions = 0;
  masterRequests = 0;

  override ran(process: SimulatedProcess): void {
    if (process.role === 'master') this.transactions += 1;
  }

  override answered({ server, request, outcome }: Answered): void {
    if (server.role === 'master') this.masterRequests += 1;
    if (server.name === 'pserver 0' && request.type === 'push' && !isPaddletError(outcome)) this.pushes += 1;
  }

  override logged(): void {}
}

/** Sums of everything so far. */
interface Look {
  readonly atMs: number;
  readonly pushes: number;
  readonly transactions: number;
  readonly masterRequests: number;
  readonly busyMs: ReadonlyMap<string, number>;
  readonly links: ReadonlyMap<string, LinkUse>;
}

export async function simulate(demand: Demand, size: ClusterSize, speed: LinkSpeed): Promise<Simulated> {
  const beganMs = performance.now();
  const { pushesPerTask } = demand;
  const tasks = size.trainers * Math.max(TASKS, Math.ceil(PUSHES / pushesPerTask));
  const job: SimulatedJob = { size, tasks, pushesPerTask, stepMs: demand.trainerMicros / 1000 };
  const rig = rigOf(job, demand, speed);
  const all = tasks * pushesPerTask;
  const first = await rig.lookAt(FROM * all);
  const last = await rig.lookAt(TO * all);
  await turn();
  return figuresOf(first, last, {
    records: demand.records,
    bytesPerMs: speed.bytesPerMs,
    realSeconds: (performance.now() - beganMs) / 1000,
  });
}

function rigOf(job: SimulatedJob, demand: Demand, speed: LinkSpeed) {
  const timeline = new Timeline();
  const counts = new Counts(KEYS, () => {});
  const links = new Links(timeline, speed, messageCostsOf(demand, job.size.pservers));
  const cores = new Map<string, OneCore>();
  const cluster = new Cluster({
    ...{ seed: SEED, timeline, witness: counts, carrier: links },
    shape: shapeOf(job.size),
    workload: simulatedWorkload(job),
    equip(process) {
      const core = new OneCore(timeline);
      cores.set(process.name, core);
      process.processor = core;
    },
  });
  const shared = createSimulatedDisk();
  shared.place(DATA_PATH, simulatedData(job));
  for (const { member, machine } of cluster.supervisors) if (member.role !== 'pserver') machine.disk = shared;
  return {
    async lookAt(pushes: number): Promise<Look> {
      const isOver = (): boolean => counts.pushes >= pushes || counts.violations.length > 0;
      const end = await timeline.run(isOver, LIMIT_MS);
      if (counts.violations.length > 0) throw new Error(counts.violations.join('\n'));
      if (end !== 'over') throw new Error(`${counts.pushes} of ${pushes} pushes: ${end}`);
      return {
        ...{ atMs: timeline.nowMs, pushes: counts.pushes },
        ...{ transactions: counts.transactions, masterRequests: counts.masterRequests },
        busyMs: new Map([...cores].map(([name, { busyMs }]) => [name, busyMs])),
        links: new Map([...cores.keys()].map((name) => [name, links.useOf(name)])),
      };
    },
  };
}

interface FigureOptions {
  readonly records: number;
  readonly bytesPerMs: number;
  readonly realSeconds: number;
}

function figuresOf(first: Look, last: Look, { records, bytesPerMs, realSeconds }: FigureOptions): Simulated {
  const tookMs = last.atMs - first.atMs;
  const seconds = tookMs / 1000;
  const namesOf = (role: RoleName): string[] => [...last.busyMs.keys()].filter((name) => name.startsWith(role));
  const busyOf = (name: string): number => (last.busyMs.get(name)! - (first.busyMs.get(name) ?? 0)) / tookMs;
  const usedBy = (name: string, of: keyof LinkUse): number =>
    last.links.get(name)![of] - (first.links.get(name)?.[of] ?? 0);
  const most = (role: RoleName, of: (name: string) => number): number => Math.max(...namesOf(role).map(of));
  const linkBusy = (role: RoleName): number =>
    most(role, (name) => Math.max(usedBy(name, 'sentBytes'), usedBy(name, 'receivedBytes'))) / bytesPerMs / tookMs;
  const trainers = namesOf('trainer').map(busyOf);
  return {
    recordsPerSecond: ((last.pushes - first.pushes) * records) / seconds,
    busy: {
      trainer: trainers.reduce((sum, one) => sum + one, 0) / trainers.length,
      pserver: most('pserver', busyOf),
      master: most('master', busyOf),
    },
    linkBusy: { trainer: linkBusy('trainer'), pserver: linkBusy('pserver'), master: linkBusy('master') },
    pserverRequests: most('pserver', (name) => usedBy(name, 'sentMessages')) / seconds,
    masterRequests: (last.masterRequests - first.masterRequests) / seconds,
    pserverBytes: most('pserver', (name) => usedBy(name, 'sentBytes') + usedBy(name, 'receivedBytes')) / seconds,
    transactions: (last.transactions - first.transactions) / seconds,
    virtualMs: last.atMs,
    realSeconds,
  };
}
