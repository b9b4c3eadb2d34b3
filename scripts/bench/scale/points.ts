/** What `--measure` has measured, and keeps in measured.json: processor time and bytes a record of real clusters. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Number of a row of `scripts/bench/training/rows.ts`. */
export type RowNumber = '4' | '6';

export interface Job {
  readonly row: RowNumber;
  readonly batchSize: number;
  /** Also `pullEvery`: so many mini-batches share a pull and a push. A push ends with its task at the latest. */
  readonly pushEvery: number;
}

/** One job, trained by a real cluster on one machine. */
export interface Point extends Job {
  readonly pservers: number;
  readonly trainers: number;
  readonly recordsPerSecond: number;
  /** Processor time a record of all processes of a role, in microseconds. */
  readonly micros: { readonly trainer: number; readonly pserver: number; readonly master: number };
  /** By all trainers, with headers. */
  readonly sentPerRecord: number;
  readonly receivedPerRecord: number;
  /** Load average of the machine at that time, over one minute. */
  readonly load: number;
}

export interface Measured {
  /** The day of the last one. */
  readonly when: string;
  readonly points: readonly Point[];
}

const PATH = join(import.meta.dirname, 'measured.json');

export function readMeasured(path = PATH): Measured {
  if (!existsSync(path)) throw new Error(`${path} is missing: measure with --measure`);
  return JSON.parse(readFileSync(path, 'utf8')) as Measured;
}

export function writeMeasured(measured: Measured, path = PATH): void {
  writeFileSync(path, `${JSON.stringify(measured, undefined, 2)}\n`);
}

/** The clusters of the rows: that is what is compared with other programs. */
export const ROW_CLUSTER = { pservers: 2, trainers: 2 } as const;

export const isOfRows = ({ pservers, trainers }: Point): boolean =>
  pservers === ROW_CLUSTER.pservers && trainers === ROW_CLUSTER.trainers;

export const nameOf = ({ row, batchSize, pushEvery }: Job): string =>
  `row ${row}, batch ${batchSize}${pushEvery === 1 ? '' : `, pushEvery ${pushEvery}`}`;
