/** A thread that opens a SQLite file at the same moment as others, and answers what was wrong, or an empty string. */
import { parentPort } from 'node:worker_threads';
import { createClock } from '../../../src/host/clock.ts';
import { openSqliteFile } from '../../../src/store/sqlite/file.ts';

export interface Opening {
  readonly path: string;
  /** One word, 0 at first: how many have come. */
  readonly gate: SharedArrayBuffer;
  readonly threads: number;
}

parentPort!.on('message', ({ path, gate, threads }: Opening) => {
  const arrived = new Int32Array(gate);
  Atomics.add(arrived, 0, 1);
  // Not a wait: those would wake one after the other.
  while (Atomics.load(arrived, 0) < threads);
  openSqliteFile(path, createClock()).then(
    ({ db }) => {
      db.close();
      parentPort!.postMessage('');
    },
    (error: unknown) => parentPort!.postMessage(String(error)),
  );
});
