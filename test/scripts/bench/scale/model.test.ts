/** The analytic model of a cluster's speed: what a push costs, what is the wall, how many cores pass a peer. */
import { expect, it } from 'vitest';
import { coresToPass, smallestCluster } from '../../../../scripts/bench/scale/cost.ts';
import { type Demand, demandOf, messageMicros, pushesOf } from '../../../../scripts/bench/scale/demand.ts';
import type { Point } from '../../../../scripts/bench/scale/points.ts';
import { bytesOf, capacityOf, pushMs, trafficOf } from '../../../../scripts/bench/scale/walls.ts';

const POINT: Point = {
  ...{ row: '4', batchSize: 1024, pushEvery: 1, pservers: 2, trainers: 2 },
  micros: { trainer: 4, pserver: 3, master: 0.5 },
  ...{ recordsPerSecond: 100_000, sentPerRecord: 440, receivedPerRecord: 90, load: 1 },
};
const DEMAND: Demand = {
  ...{ row: '4', records: 1000, pushesPerTask: 8, message: { trainer: 80, pserver: 40 } },
  ...{ trainerMicros: 4000, pserverMicros: 2000, masterTaskMicros: 8000, sentBytes: 400_000, receivedBytes: 100_000 },
};
const FAST = { bytesPerMs: 1e9, latencyMs: 0 };

it('a push ends with its task at the latest', () => {
  expect(pushesOf({ batchSize: 1024, pushEvery: 4 })).toEqual({ records: 4096, pushesPerTask: 2 });
  expect(pushesOf({ batchSize: 4096, pushEvery: 16 })).toEqual({ records: 8192, pushesPerTask: 1 });
});

it('what is measured is what the messages cost, and what does not depend on the number of pservers', () => {
  const demand = demandOf(POINT, { trainer: 80, pserver: 40 });
  const ms = pushMs(demand, POINT.pservers);
  expect(ms.trainer).toBeCloseTo((1024 * POINT.micros.trainer) / 1000, 9);
  expect(ms.pserver * POINT.pservers).toBeCloseTo((1024 * POINT.micros.pserver) / 1000, 9);
  const { sent, received } = bytesOf(demand, POINT.pservers);
  expect([2 * sent, 2 * received]).toEqual([1024 * 440, 1024 * 90]);
});

it('a message costs what one pserver more costs', () => {
  const one: Point = { ...POINT, batchSize: 8192, pservers: 1, trainers: 1 };
  const more = { ...one, pservers: 3, micros: { trainer: 4 + 400 / 8192, pserver: 3 + 200 / 8192, master: 0.5 } };
  // Each push is a task here, which asks each pserver for its position: two messages for each of two pservers more.
  const micros = messageMicros(one, more);
  expect(micros.trainer).toBeCloseTo(100, 6);
  expect(micros.pserver).toBeCloseTo(50, 6);
});

it('pservers more make the rows of a push cheaper, and no message', () => {
  const allowed = (pservers: number): number =>
    capacityOf(DEMAND, { pservers, trainers: 1000 }, FAST).allowed['pservers: processor'];
  // 2,000 µs and nine messages for eight pushes.
  expect(allowed(1)).toBeCloseTo(1e6 / (2000 + 45), 6);
  expect(allowed(64)).toBeCloseTo(1e6 / (2000 / 64 + 45), 6);
});

it('the wall is the part that allows the fewest pushes', () => {
  const slow = { bytesPerMs: 1000, latencyMs: 0 };
  const wallOf = (pservers: number, trainers: number, speed = FAST): string =>
    capacityOf(DEMAND, { pservers, trainers }, speed).wall;
  expect(wallOf(4, 1)).toBe('trainers: processor');
  expect(wallOf(1, 64)).toBe('pservers: processor');
  expect(wallOf(64, 512)).toBe('master: processor');
  expect(wallOf(1, 8, slow)).toBe('pservers: link');
  expect(wallOf(64, 8, slow)).toBe('trainers: link');
  expect(wallOf(2, 2, { ...FAST, latencyMs: 100 })).toBe('latency');
  const short = { ...DEMAND, pushesPerTask: 1, masterTaskMicros: 1000, trainerMicros: DEMAND.trainerMicros / 2 };
  expect(capacityOf(short, { pservers: 2, trainers: 1 }, FAST).wall).toBe('hand-outs');
});

it('counts what goes on', () => {
  const traffic = trafficOf(DEMAND, { pservers: 2, trainers: 4 }, 800_000);
  // 800 pushes, 100 tasks.
  expect(traffic).toMatchObject({ pserverRequests: 900, changes: 200, transactions: 200, masterRequests: 300 });
  expect(traffic.allBytes).toBe(2 * traffic.pserverBytes);
  expect(traffic.trainerBytes).toBe(traffic.allBytes / 4);
});

it('no more transactions than one at a time', () => {
  const { changes, transactions } = trafficOf(DEMAND, { pservers: 64, trainers: 512 }, 8_000_000);
  expect(changes).toBe(2000);
  expect(transactions).toBeLessThan(240);
});

it('cores to pass another program are the processor time of what it does in a second', () => {
  expect(coresToPass(POINT, 1e6)).toBeCloseTo(7.5, 9);
});

it('the smallest cluster is as fast, and one process less is not', () => {
  const found = smallestCluster(DEMAND, 500_000, FAST)!;
  expect(capacityOf(DEMAND, found, FAST).recordsPerSecond).toBeGreaterThanOrEqual(500_000);
  const processes = found.pservers + found.trainers - 1;
  for (let pservers = 1; pservers < processes; pservers++) {
    const smaller = { pservers, trainers: processes - pservers };
    expect(capacityOf(DEMAND, smaller, FAST).recordsPerSecond).toBeLessThan(500_000);
  }
  expect(smallestCluster(DEMAND, 1e9, FAST)).toBeUndefined();
});
