import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseJobFile } from '../../../../src/job/load-job.ts';
import { parsedCacheOf } from '../../../../src/roles/trainer/tasks/task-files.ts';
import { GOLDEN_KEY, goldenBlock } from '../../../data/parsed/golden-block.ts';
import { testPlace } from '../../../data/place.ts';

const jobOf = (passes: number) =>
  parseJobFile(
    'job',
    `{ name: t, model: { type: lr }, data: { format: libsvm, train: a }, training: { passes: ${passes} } }`,
  );

test('a job of one pass reads the cache of parsed tasks, and writes nothing to it', async () => {
  const place = testPlace();
  const { block, sources } = goldenBlock();
  const [once, twice] = [parsedCacheOf(place, jobOf(1))!, parsedCacheOf(place, jobOf(2))!];
  await once.save(GOLDEN_KEY, block, sources);
  expect(existsSync(join(place.cacheFolder, 'parsed'))).toBe(false);
  await twice.save(GOLDEN_KEY, block, sources);
  expect(await once.load(GOLDEN_KEY, block.records, sources)).toEqual(block);
});
