/**
 * What one push costs the roles, whatever the size of the cluster, from a measured point: the part that each message
 * costs, and the part that is shared by all pservers.
 */
import {
  ANSWER_HEADER_BYTES,
  MASTER_REQUESTS_A_TASK,
  MASTER_TASK_MICROS,
  MESSAGE_MICROS,
  PUSH_HEADER_BYTES,
  QUIET_LOAD,
  RECORDS_PER_TASK,
} from './constants.ts';
import { isOfRows, type Measured, type Point, type RowNumber } from './points.ts';

/** Processor time of one request and its answer at either end, in microseconds. */
export interface MessageMicros {
  readonly trainer: number;
  readonly pserver: number;
}

/** Cost of one push, with the pull in the same request. Times in microseconds, bytes without headers. */
export interface Demand {
  readonly row: RowNumber;
  readonly records: number;
  readonly pushesPerTask: number;
  readonly message: MessageMicros;
  /** Time of its trainer: reading, computing, routing, and the bytes. */
  readonly trainerMicros: number;
  /** Time of all pservers together: rows that are looked up and updated, and the bytes. */
  readonly pserverMicros: number;
  /** Time of the master for a whole task. */
  readonly masterTaskMicros: number;
  /** To and from all pservers together. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** Requests of a trainer to each pserver for one push: itself, and its part of asking for the position of the task. */
export const requestsAPserver = (pushesPerTask: number): number => 1 + 1 / pushesPerTask;

/** Requests of a trainer for one push. */
export const requestsAPush = (pservers: number, pushesPerTask: number): number =>
  pservers * requestsAPserver(pushesPerTask) + MASTER_REQUESTS_A_TASK / pushesPerTask;

export function pushesOf({ batchSize, pushEvery }: Pick<Point, 'batchSize' | 'pushEvery'>): {
  readonly records: number;
  readonly pushesPerTask: number;
} {
  const records = Math.min(batchSize * pushEvery, RECORDS_PER_TASK);
  return { records, pushesPerTask: RECORDS_PER_TASK / records };
}

export function demandOf(point: Point, message: MessageMicros): Demand {
  const { pservers, micros } = point;
  const { records, pushesPerTask } = pushesOf(point);
  const own = (measured: number, messages: number): number => Math.max(0, measured * records - messages);
  const requests = pservers * requestsAPserver(pushesPerTask);
  return {
    row: point.row,
    records,
    pushesPerTask,
    message,
    trainerMicros: own(micros.trainer, message.trainer * requestsAPush(pservers, pushesPerTask)),
    pserverMicros: own(micros.pserver, message.pserver * requests),
    masterTaskMicros: MASTER_TASK_MICROS,
    sentBytes: own(point.sentPerRecord, pservers * PUSH_HEADER_BYTES),
    receivedBytes: own(point.receivedPerRecord, pservers * ANSWER_HEADER_BYTES),
  };
}

/**
 * What one more pserver costs each push, from two clusters with one trainer and another number of pservers: the records
 * are the same, and so are the ids.
 */
export function messageMicros(fewer: Point, more: Point): MessageMicros {
  const { records, pushesPerTask } = pushesOf(fewer);
  const requests = (more.pservers - fewer.pservers) * requestsAPserver(pushesPerTask);
  const of = (role: 'trainer' | 'pserver'): number =>
    Math.max(0, (records * (more.micros[role] - fewer.micros[role])) / requests);
  return { trainer: of('trainer'), pserver: of('pserver') };
}

/** From the points with one trainer, if they were measured on a quiet machine. */
export function messageMicrosIn({ points }: Pick<Measured, 'points'>): MessageMicros {
  const quiet = points.filter(({ trainers, load }) => trainers === 1 && load <= QUIET_LOAD);
  const [fewer, more] = [...quiet].sort((a, b) => a.pservers - b.pservers);
  return fewer === undefined || more === undefined ? MESSAGE_MICROS : messageMicros(fewer, more);
}

/** All jobs that were measured with the clusters of the rows. */
export const demandsIn = (measured: Measured): { readonly point: Point; readonly demand: Demand }[] => {
  const message = messageMicrosIn(measured);
  return measured.points.filter(isOfRows).map((point) => ({ point, demand: demandOf(point, message) }));
};
