/**
 * COST: the configuration that outperforms a single thread (McSherry, Isard and Murray, "Scalability! But at what
 * COST?", HotOS 2015). Here: with how many cores a cluster trains as many records a second as another program.
 */
import type { Demand } from './demand.ts';
import type { LinkSpeed } from './links.ts';
import type { Point } from './points.ts';
import { type ClusterSize, capacityOf, pushMs } from './walls.ts';

/** If nothing waits: processor time of all roles for as many records as the other program trains in a second. */
export const coresToPass = ({ micros }: Pick<Point, 'micros'>, recordsPerSecond: number): number =>
  (recordsPerSecond * (micros.trainer + micros.pserver + micros.master)) / 1e6;

export interface SmallestCluster extends ClusterSize {
  /** That its processes keep busy at the speed of the other program. */
  readonly cores: number;
}

/** With more processes of each role than this nothing is looked for. */
const MOST_PROCESSES = 64;

/**
 * The cluster with the fewest processes that the model says is as fast: each process has one core at most, and every
 * pserver more costs every push a message. Undefined: none is.
 */
export function smallestCluster(
  demand: Demand,
  recordsPerSecond: number,
  speed: LinkSpeed,
): SmallestCluster | undefined {
  for (let processes = 2; processes <= MOST_PROCESSES; processes++) {
    const fast = sizesOf(processes)
      .filter((size) => capacityOf(demand, size, speed).recordsPerSecond >= recordsPerSecond)
      .map((size) => ({ ...size, cores: coresOf(demand, size, recordsPerSecond) }))
      .sort((a, b) => a.cores - b.cores);
    if (fast[0] !== undefined) return fast[0];
  }
  return undefined;
}

const sizesOf = (processes: number): ClusterSize[] =>
  Array.from({ length: processes - 1 }, (_, at) => ({ pservers: at + 1, trainers: processes - at - 1 }));

function coresOf(demand: Demand, { pservers }: ClusterSize, recordsPerSecond: number): number {
  const ms = pushMs(demand, pservers);
  return ((recordsPerSecond / demand.records) * (ms.trainer + pservers * ms.pserver + ms.master)) / 1000;
}
