/** The tables of docs/scale.md, as Markdown. */
import { AIM_CORES, PEERS } from './constants.ts';
import { coresToPass, smallestCluster } from './cost.ts';
import type { Demand } from './demand.ts';
import type { LinkSpeed } from './links.ts';
import type { Point, RowNumber } from './points.ts';
import type { Simulated } from './simulate.ts';
import { type Capacity, type ClusterSize, capacityOf, trafficOf } from './walls.ts';

const UNITS = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** Three digits, with k, M or G. */
export function short(value: number): string {
  const [size, unit] = UNITS.find(([size]) => value >= size * 0.9995) ?? [1, ''];
  const scaled = value / size;
  const digits = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return unit === '' ? `${Number(scaled.toPrecision(3))}` : `${scaled.toFixed(digits)} ${unit}`;
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return `${line(head)}|${'---|'.repeat(head.length)}\n${rows.map(line).join('')}`;
}

const sizeOf = ({ pservers, trainers }: ClusterSize): string => `${pservers} + ${trainers}`;

/** What comes after the wall. */
function nextWall({ allowed, wall, recordsPerSecond }: Capacity, { records }: Demand): string {
  const others = Object.entries(allowed).filter(([name]) => name !== wall && name !== 'latency');
  const [name, pushes] = others.reduce((lowest, one) => (one[1] < lowest[1] ? one : lowest));
  return `${name} at ${((pushes * records) / recordsPerSecond).toFixed(1)} ×`;
}

export function wallTable(demand: Demand, sizes: readonly ClusterSize[], speed: LinkSpeed): string {
  const rows = sizes.map((size) => {
    const capacity = capacityOf(demand, size, speed);
    const traffic = trafficOf(demand, size, capacity.recordsPerSecond);
    return [
      sizeOf(size),
      short(capacity.recordsPerSecond),
      capacity.wall,
      nextWall(capacity, demand),
      short(traffic.pserverRequests),
      short(traffic.masterRequests),
      `${short(traffic.changes)}, ${short(traffic.transactions)}`,
      `${short(traffic.pserverBytes)}B`,
      `${short(traffic.trainerBytes)}B`,
      `${short(traffic.allBytes)}B`,
    ];
  });
  const head = ['pservers + trainers', 'records/s', 'wall', 'next wall', 'requests/s of a pserver', 'of the master'];
  return table([...head, 'master: changes, transactions/s', 'bytes/s of a pserver', 'of a trainer', 'of all'], rows);
}

export function simulatedRow(demand: Demand, size: ClusterSize, speed: LinkSpeed, simulated: Simulated): string {
  const { recordsPerSecond, wall } = capacityOf(demand, size, speed);
  const { busy, linkBusy } = simulated;
  const cells = [
    sizeOf(size),
    short(simulated.recordsPerSecond),
    (simulated.recordsPerSecond / recordsPerSecond).toFixed(2),
    wall,
    `${percent(busy.trainer)}, ${percent(busy.pserver)}, ${percent(busy.master)}`,
    `${percent(linkBusy.trainer)}, ${percent(linkBusy.pserver)}`,
    short(simulated.pserverRequests),
    short(simulated.masterRequests),
    short(simulated.transactions),
    `${short(simulated.pserverBytes)}B`,
    `${(simulated.virtualMs / 1000).toFixed(1)} s in ${simulated.realSeconds.toFixed(0)} s`,
  ];
  return `| ${cells.join(' | ')} |`;
}

export const SIMULATED_HEAD: readonly string[] = [
  'pservers + trainers',
  'records/s',
  'of the model',
  'wall by the model',
  'processors busy: trainer, pserver, master',
  'links busy: trainer, pserver',
  'requests/s of a pserver',
  'of the master',
  'transactions/s',
  'bytes/s of a pserver',
  'simulated',
];

const JOB_HEAD = ['row', 'batch', '`pushEvery`'] as const;
const jobCells = ({ row, batchSize, pushEvery }: Point): string[] => [row, `${batchSize}`, `${pushEvery}`];

export function measuredTable(points: readonly Point[]): string {
  const rows = points.map((point) => {
    const { trainer, pserver, master } = point.micros;
    return [
      ...jobCells(point),
      `${trainer}, ${pserver}, ${master}`,
      (trainer + pserver + master).toPrecision(3),
      `${point.sentPerRecord}, ${point.receivedPerRecord}`,
      short(point.recordsPerSecond),
      `${point.load}`,
    ];
  });
  const head = ['CPU a record, µs: trainers, pservers, master', 'sum', 'bytes a record: sent, received', 'records/s'];
  return table([...JOB_HEAD, ...head, 'load'], rows);
}

/**
 * Cores to pass each peer, by processor time alone; behind it the smallest cluster that the model finds, pservers +
 * trainers. A table for each row.
 */
export function costTables(
  jobs: readonly { readonly point: Point; readonly demand: Demand }[],
  speed: LinkSpeed,
): string {
  const rows = [...new Set(PEERS.map(({ row }) => row))];
  return rows.map((row) => costTable(row, jobs, speed)).join('\n');
}

function costTable(row: RowNumber, jobs: Parameters<typeof costTables>[0], speed: LinkSpeed): string {
  const peers = PEERS.filter((peer) => peer.row === row);
  const cells = ({ point, demand }: (typeof jobs)[number]): string[] =>
    peers.map(({ recordsPerSecond }) => {
      const cluster = smallestCluster(demand, recordsPerSecond, speed);
      const cores = coresToPass(point, recordsPerSecond).toFixed(1);
      return `${cores}; ${cluster === undefined ? 'none' : sizeOf(cluster)}`;
    });
  const names = peers.map(({ name, cores, recordsPerSecond }) => {
    return `${name}, ${cores === 1 ? 'one thread' : `${cores} threads`}: ${short(recordsPerSecond)}`;
  });
  const aims = peers.map(({ recordsPerSecond }) => `${((AIM_CORES * 1e6) / recordsPerSecond).toPrecision(2)} µs`);
  const ofRow = jobs.filter(({ point }) => point.row === row);
  return table(
    [...JOB_HEAD, ...names],
    [...ofRow.map((job) => [...jobCells(job.point), ...cells(job)]), [`a sum for ${AIM_CORES} cores`, '', '', ...aims]],
  );
}
