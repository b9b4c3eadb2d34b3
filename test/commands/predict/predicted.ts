/** What `paddlet predict` writes, by the parts that it is made of: without a store, and in one process. */
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import type { JobRecord } from '../../../src/cluster/job/job-record.ts';
import { findInput, openInput } from '../../../src/commands/predict/input.ts';
import type { OutputFormat } from '../../../src/commands/predict/output-formats.ts';
import { createPartMaker } from '../../../src/commands/predict/part-maker.ts';
import { makeParts } from '../../../src/commands/predict/thread.ts';
import { createThreadPool } from '../../../src/commands/predict/thread-pool.ts';
import type { DataFormat } from '../../../src/data/formats/registry.ts';
import { Predictor } from '../../../src/roles/evaluator/predictor.ts';
import type { ScoreClient, Tally } from '../../../src/roles/evaluator/score-groups.ts';
import type { TestPlace } from '../../data/place.ts';

/** Weights between −1 and 1. */
export const CLIENT: ScoreClient = {
  pull: async (lists) => ({
    dense: [Float32Array.of(-0.1)],
    sparse: lists.map(({ ids, count }) =>
      Float32Array.from(new BigUint64Array(ids.slice(0, 8 * count).buffer), (id) => Number(id % 9n) / 4 - 1),
    ),
  }),
};

export interface How {
  readonly record: JobRecord;
  readonly file: string;
  readonly format: DataFormat;
  readonly as?: OutputFormat;
  readonly keep?: readonly string[];
  /** 1: without any of its own. */
  readonly threads?: number;
}

export async function predicted(
  place: TestPlace,
  how: How,
): Promise<{ readonly bytes: Buffer; readonly tally: Tally }> {
  const { record, format, as = 'csv', keep = [], threads = 1 } = how;
  const { disk } = place.host;
  const { signal } = new AbortController();
  const data = join(place.folder, how.file);
  const { source, stream } = await openInput(data, await findInput(disk, data), format, signal);
  const options = { record, format, file: how.file, keep, as, hasErrors: true, source };
  const maker = await createPartMaker(options, disk);
  const pool = createThreadPool(
    Array.from({ length: threads === 1 ? 0 : threads }, () => {
      const { port1, port2 } = new MessageChannel();
      makeParts(port2, structuredClone(options));
      return {
        send: (message) => port1.postMessage(message),
        onMessage: (run) => void port1.on('message', run),
        onEnd: () => {},
        close: async () => port1.close(),
      };
    }),
  );
  const { output } = maker;
  const written = [output.head];
  const predictor = new Predictor({
    parts: maker.parts(stream),
    make: threads === 1 ? maker.make : pool.make,
    atOnce: 2 * threads,
    async take(made) {
      written.push(output.bytesOf(made));
      return true;
    },
  });
  try {
    const tally = await predictor.run(CLIENT, signal);
    return { bytes: Buffer.concat([...written, output.end()]), tally };
  } finally {
    await Promise.all([pool.close(), maker.close()]);
  }
}
