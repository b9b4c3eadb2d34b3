/** What the model and the simulation take as given, each with its source. Points are in measured.json. */
import type { RowNumber } from './points.ts';

/** `scripts/bench/training/rows.ts`, rows 4 and 6. */
export const RECORDS_PER_TASK = 8192;

/** Tables of each model, and floats of a row in all of them: `src/model`; FM has 16 factors. */
export const SHAPE: Readonly<Record<RowNumber, { readonly tables: number; readonly floats: number }>> = {
  '4': { tables: 1, floats: 1 },
  '6': { tables: 2, floats: 17 },
};

/** One id on the wire (docs/protocol.md). */
export const ID_BYTES = 8;
export const FLOAT_BYTES = 4;

/**
 * Frame and header of a push that takes a pull along, and of its answer: what `encodeFrame` makes of them, in
 * test/scripts/bench/scale/simulate.test.ts.
 */
export const PUSH_HEADER_BYTES = 336;
export const ANSWER_HEADER_BYTES = 80;

/** `training.pullAhead` by default; one push more is on its way (docs/job-file.md). */
export const PUSHES_IN_FLIGHT = 3;

/** A trainer asks the master for a task, reports that it has begun it, and says its end (src/roles/trainer/tasks). */
export const MASTER_REQUESTS_A_TASK = 3;

/** A hand-out and an end, each a change of the store (src/roles/master/tasks/save-pipeline.ts). */
export const CHANGES_A_TASK = 2;

/** A transaction of the simulated store, one way and the other on average (test/sim/store.ts). */
export const TRANSACTION_MS = 4.3;

/**
 * What a task costs the master, and what it needs when nothing happens, in microseconds and in milliseconds a second: a
 * line through rows 1, 2, 3 and 6 of "Figures after" in docs/decisions/0120, which have 131, 129, 63 and 10 tasks a
 * second and 262, 369, 176 and 65 ms of processor time. The store is SQLite, whose writes are the master's own.
 */
export const MASTER_TASK_MICROS = 2100;
export const MASTER_IDLE_MS_A_SECOND = 44;

/**
 * Processor time of a small request and its answer, in microseconds: docs/decisions/0120 has 150 for both ends. Taken
 * while nothing better was measured on a machine without other work.
 */
export const MESSAGE_MICROS = { trainer: 75, pserver: 75 } as const;
/**
 * Where more processes want to run than there are cores, a message also pays for switching between them: with a higher
 * load, the difference of two points is not the price of a message.
 */
export const QUIET_LOAD = 2;

/** A link of 10 Gbit/s each way, and what lies between two hosts of one data center: an assumption. */
export const GIGABIT_PER_S = 10;
export const LATENCY_MICROS = 100;

/**
 * Records a second of other programs on the machine that this was written on, with two cores and nothing else to do:
 * the data of rows 4 and 6, without reading it as text. Vowpal Wabbit 8.2 from its cache, xLearn 0.44 with AdaGrad, and
 * the loop of scripts/bench/native/training.c. They were measured once; the script does not start them.
 */
export const PEERS: readonly {
  readonly row: RowNumber;
  readonly name: string;
  readonly cores: number;
  readonly recordsPerSecond: number;
}[] = [
  { row: '4', name: 'Vowpal Wabbit', cores: 1, recordsPerSecond: 950e3 },
  { row: '4', name: 'xLearn', cores: 1, recordsPerSecond: 940e3 },
  { row: '4', name: 'xLearn', cores: 2, recordsPerSecond: 2.1e6 },
  { row: '4', name: 'C', cores: 1, recordsPerSecond: 1.33e6 },
  { row: '6', name: 'xLearn', cores: 1, recordsPerSecond: 330e3 },
  { row: '6', name: 'xLearn', cores: 2, recordsPerSecond: 540e3 },
  { row: '6', name: 'C', cores: 1, recordsPerSecond: 257e3 },
];

/** The cluster is to pass each of them with so many cores. */
export const AIM_CORES = 4;
