/** A data set of thousands of small files, where a process may have few open. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { openPlace } from './harness.ts';
import { PADDLET } from './processes.ts';

const FILES = 5_000;
const FOLDERS = 50;
const ROWS = 4;
const OPEN_FILES = 96;
const PASSES = 2;

const JOB = {
  name: 'many',
  data: {
    // A folder is read as a whole, and a glob in part.
    train: 'data',
    test: 'data/1?/*.csv',
    format: 'csv',
    columns: { label: { type: 'label' }, a: { type: 'category' }, b: { type: 'number' } },
  },
  model: { type: 'lr' },
  training: { passes: PASSES, batchSize: 64 },
  cluster: { pservers: 2, trainers: 2 },
};

test(`${FILES} files, of which ${OPEN_FILES} may be open`, async () => {
  const place = openPlace();
  for (let folder = 0; folder < FOLDERS; folder++) mkdirSync(place.path('data', `${folder}`), { recursive: true });
  for (let file = 0; file < FILES; file++) {
    const rows = Array.from({ length: ROWS }, (_, row) => `${(file + row) % 2},c${(file * row) % 11},${file % 50}\n`);
    writeFileSync(place.path('data', `${file % FOLDERS}`, `${file}.csv`), `label,a,b\n${rows.join('')}`);
  }
  const job = place.writeJob(JOB);
  const limited = ['bash', '-c', `ulimit -n ${OPEN_FILES}; exec "$0" "$@"`, PADDLET];
  const indexed = await place.startCommand('index', [...limited, 'data', 'index', 'data', '--job', job, '--json'])
    .ended;
  expect(JSON.parse(indexed.out)).toMatchObject({ records: FILES * ROWS });
  const ran = await place.startCommand('run', [...limited, 'run', job, '--dir', 'out', '--json']).ended;
  expect(ran.code).toBe(0);
  const { records, metrics } = jobResultSchema.parse(JSON.parse(ran.out));
  expect(records).toMatchObject({ applied: PASSES * FILES * ROWS, bad: 0, lost: 0 });
  expect(metrics.test?.records).toBe((FILES / FOLDERS) * 10 * ROWS);
});
