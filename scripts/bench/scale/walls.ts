/**
 * The analytic model: how many pushes a second each part of a cluster allows, and which allows the fewest. It knows no
 * queues, so the simulation stays below it.
 */
import {
  ANSWER_HEADER_BYTES,
  CHANGES_A_TASK,
  MASTER_IDLE_MS_A_SECOND,
  MASTER_REQUESTS_A_TASK,
  PUSH_HEADER_BYTES,
  PUSHES_IN_FLIGHT,
  TRANSACTION_MS,
} from './constants.ts';
import { type Demand, requestsAPserver, requestsAPush } from './demand.ts';
import type { LinkSpeed } from './links.ts';

export interface ClusterSize {
  readonly pservers: number;
  readonly trainers: number;
}

export const WALLS = [
  'trainers: processor',
  'pservers: processor',
  'master: processor',
  'trainers: link',
  'pservers: link',
  'latency',
  'hand-outs',
] as const;
export type Wall = (typeof WALLS)[number];

export interface Capacity {
  /** Pushes a second of all trainers that each part allows. */
  readonly allowed: Readonly<Record<Wall, number>>;
  readonly wall: Wall;
  readonly recordsPerSecond: number;
}

/**
 * A trainer asks for its next tasks when those before are handed out (src/roles/trainer/tasks/loop.ts). The answer
 * waits for a transaction, and for the one before, which usually has ends of tasks in it.
 */
const HAND_OUT_TRANSACTIONS = 2;
/** Short tasks that a trainer gets through in that time: several are handed out at once, and wait for their ends. */
const HAND_OUT_TASKS = 2;

/** Processor time of one push in milliseconds: of its trainer, of each pserver, of the master. */
export function pushMs({ message, ...demand }: Demand, pservers: number) {
  const { pushesPerTask } = demand;
  return {
    trainer: (demand.trainerMicros + message.trainer * requestsAPush(pservers, pushesPerTask)) / 1000,
    pserver: (demand.pserverMicros / pservers + message.pserver * requestsAPserver(pushesPerTask)) / 1000,
    master: demand.masterTaskMicros / pushesPerTask / 1000,
  };
}

/** Bytes of one push to one pserver, with headers. */
export const bytesOf = ({ sentBytes, receivedBytes }: Demand, pservers: number) => ({
  sent: PUSH_HEADER_BYTES + sentBytes / pservers,
  received: ANSWER_HEADER_BYTES + receivedBytes / pservers,
});

export function capacityOf(demand: Demand, { pservers, trainers }: ClusterSize, speed: LinkSpeed): Capacity {
  const ms = pushMs(demand, pservers);
  const { sent, received } = bytesOf(demand, pservers);
  const linkMs = Math.max(sent, received) / speed.bytesPerMs;
  // A push that nothing else is in the way of: computed, sent, applied, answered.
  const roundMs = ms.trainer + ms.pserver + 2 * speed.latencyMs + (pservers * (sent + received)) / speed.bytesPerMs;
  const allowed: Record<Wall, number> = {
    'trainers: processor': (1000 * trainers) / ms.trainer,
    'pservers: processor': 1000 / ms.pserver,
    'master: processor': (1000 - MASTER_IDLE_MS_A_SECOND) / ms.master,
    'trainers: link': (1000 * trainers) / (pservers * linkMs),
    'pservers: link': 1000 / linkMs,
    latency: (1000 * trainers * PUSHES_IN_FLIGHT) / roundMs,
    'hand-outs':
      (1000 * trainers * HAND_OUT_TASKS * demand.pushesPerTask) /
      (HAND_OUT_TRANSACTIONS * TRANSACTION_MS + 2 * speed.latencyMs),
  };
  const wall = WALLS.reduce((lowest, one) => (allowed[one] < allowed[lowest] ? one : lowest));
  return { allowed, wall, recordsPerSecond: allowed[wall] * demand.records };
}

/** What goes on each second when so many records are trained. */
export interface Traffic {
  /** Requests of one pserver, and of the master. */
  readonly pserverRequests: number;
  readonly masterRequests: number;
  /** Bytes both ways over the link of one pserver, of one trainer, and of all trainers. */
  readonly pserverBytes: number;
  readonly trainerBytes: number;
  readonly allBytes: number;
  /**
   * Work of the master: two changes of the queue for each task; a transaction saves all changes that have come until
   * then.
   */
  readonly changes: number;
  readonly transactions: number;
}

export function trafficOf(demand: Demand, { pservers, trainers }: ClusterSize, recordsPerSecond: number): Traffic {
  const pushes = recordsPerSecond / demand.records;
  const tasks = pushes / demand.pushesPerTask;
  const { sent, received } = bytesOf(demand, pservers);
  const pserverBytes = pushes * (sent + received);
  const changes = CHANGES_A_TASK * tasks;
  return {
    pserverRequests: pushes * requestsAPserver(demand.pushesPerTask),
    masterRequests: MASTER_REQUESTS_A_TASK * tasks,
    pserverBytes,
    trainerBytes: (pserverBytes * pservers) / trainers,
    allBytes: pserverBytes * pservers,
    changes,
    transactions: Math.min(changes, 1000 / TRANSACTION_MS),
  };
}
