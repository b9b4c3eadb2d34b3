/** The batches of all lanes in all rounds, with tasks from the data cache and without. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { createRoundPlan } from '../../../../src/core/rounds/plan.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import { createLaneReader } from '../../../../src/roles/trainer/rounds/lane-reader.ts';
import { openTaskFiles } from '../../../../src/roles/trainer/tasks/task-files.ts';
import { bitsOf } from '../../../data/parsed/compare.ts';
import { testPlace } from '../../../data/place.ts';

const RECORDS_PER_TASK = 10;
const LANES = 3;
const BATCH = 4;
const PASSES = 2;
const record = {
  job: { data: { format: 'libsvm' }, training: {} },
  train: { featureBound: '10', labelBound: 2 },
} as unknown as JobRecord;

test('are the same bit by bit', async () => {
  const place = testPlace();
  const lines = Array.from(
    { length: 75 },
    (_, at) => `${at % 2} ${at % 6}:1 ${at % 4 === 1 ? 'x' : `${at % 9}:${at / 7}`}\n`,
  );
  writeFileSync(join(place.folder, 'a.txt'), lines.join(''));
  const index = await buildIndex(place, { what: 'a.txt', format: 'libsvm', recordsPerTask: RECORDS_PER_TASK });
  const tasks = cutTasks(index, RECORDS_PER_TASK);
  const files = index.files.map(({ path, bytes, records }) => ({ path, bytes, records }));
  const taskRecords = Uint32Array.from(tasks, (chunks) => chunks.reduce((sum, { records }) => sum + records, 0));
  const plan = createRoundPlan({ taskRecords, batchSize: BATCH, passes: PASSES, lanes: LANES, seed: 3 });

  async function allLanes(cache?: ParsedCache): Promise<unknown[]> {
    const reading = openTaskFiles(place, record, { task: 'binary' } as never, {
      batchSize: BATCH,
      part: 'train',
      cache,
    });
    const reader = createLaneReader(
      plan,
      (task) => reading.read({ files, chunks: [...tasks[task]!] }),
      (records) => records,
    );
    const seen: unknown[] = [];
    for (let round = 0; round < plan.firstOf(PASSES); round++) {
      reader.ahead(round, [0, 1, 2]);
      for (let lane = 0; lane < LANES; lane++) {
        const read = await reader.read(round, lane);
        seen.push([read?.position, read && bitsOf(read.batch), read?.good, read?.describe()]);
      }
    }
    await reading.close();
    return seen;
  }

  const plain = await allLanes();
  expect(await allLanes(new ParsedCache(place, { bytes: 2 ** 30 }))).toEqual(plain);
  expect(await allLanes(new ParsedCache(place, { bytes: 2 ** 30 }))).toEqual(plain);
});
