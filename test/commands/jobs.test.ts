/** `paddlet jobs`: the jobs of ./.paddlet and of a store, whatever their state. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { put, SILENT } from '../store/support.ts';
import { runCommand } from './run-command.ts';
import { endJob, keys, type StoredJob, storedJob } from './saved-job.ts';

const run = ({ cwd }: StoredJob, ...argv: string[]) => runCommand(argv, { cwd });

/** A folder beside that of the job, with a copy of its store. */
function copyOf(job: StoredJob, name: string): string {
  const folder = join(job.cwd, '.paddlet', name);
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(job.folder, 'store.db'), join(folder, 'store.db'));
  return folder;
}

/** Closed, so that its file holds everything. */
async function closedJob(): Promise<StoredJob> {
  const job = await storedJob('small');
  await endJob(job);
  await put(job.store, keys.result, JSON.stringify({ failed: { code: 'JobFailed', message: 'lost', by: 'master' } }));
  await job.store.close();
  return job;
}

test('jobs of ./.paddlet: one that failed, one that is stopped, and those that cannot be read', async () => {
  const job = await closedJob();
  const url = `sqlite:${join(copyOf(job, 'stopped'), 'store.db')}`;
  const stopped = await openStore(url, { clock: createClock(), log: SILENT });
  await stopped.txn({ if: [], then: [{ delete: keys.result }] });
  await stopped.close();
  writeFileSync(join(copyOf(job, 'damaged'), 'store.db'), 'not a database, and long enough to be read as one');
  const locked = new DatabaseSync(join(copyOf(job, 'locked'), 'store.db'));
  locked.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  mkdirSync(join(job.cwd, '.paddlet/cache'));
  const before = readFileSync(join(job.folder, 'store.db'));
  try {
    const { code, out } = await run(job, 'jobs', '--timeout', '0s', '--json');
    const folder = (name: string): string => join(job.cwd, '.paddlet', name);
    const seen = { lastAlive: expect.any(Number), bytes: expect.any(Number) };
    expect([code, JSON.parse(out)]).toEqual([
      0,
      {
        jobs: [
          { name: 'damaged', folder: folder('damaged'), error: expect.objectContaining({ code: 'StoreInvalid' }) },
          { name: 'locked', folder: folder('locked'), error: expect.objectContaining({ code: 'StoreUnavailable' }) },
          { name: 'small', folder: folder('small'), state: 'failed', ...seen },
          { name: 'small', folder: folder('stopped'), state: 'stopped', ...seen },
        ],
      },
    ]);
    const text = (await run(job, 'jobs', '--timeout', '0s')).out;
    expect(text).toMatch(/^name +state +progress +last alive +size\ndamaged +StoreInvalid\n/);
    expect(text).toMatch(/\nsmall +failed +20\d\d-\S+Z +[\d.]+ kB\n/);
    expect(text).toMatch(/\nlocked: StoreUnavailable: /);
  } finally {
    locked.close();
  }
  expect(readFileSync(join(job.folder, 'store.db'))).toEqual(before);
  expect(readdirSync(job.folder).sort()).toEqual(['checkpoints', 'store.db']);
});

test('jobs of a store, and the absence of jobs', async () => {
  const job = await storedJob('small');
  await put(job.store, '/paddlet/other/job', '{}');
  const { out } = await run(job, 'jobs', '--store', job.url, '--json');
  expect(JSON.parse(out)).toEqual({
    jobs: [
      { name: 'other', error: expect.objectContaining({ code: expect.any(String), message: expect.any(String) }) },
      { name: 'small', state: 'stopped', lastAlive: expect.any(Number), bytes: 0 },
    ],
  });
  await job.store.txn({ if: [], then: [{ deletePrefix: '/paddlet/' }, { put: '/mine/job', value: '{}' }] });
  expect((await run(job, 'jobs')).out).toContain('has no job below /paddlet/; its first key is /mine/job');
  await job.store.txn({ if: [], then: [{ deletePrefix: '/' }] });
  expect((await run(job, 'jobs')).out).toContain('is empty: its job has not started, or was deleted in part');
  expect((await run(job, 'jobs', '--store', job.url)).out).toBe('no jobs in the store\n');
  expect((await runCommand(['jobs'], { cwd: job.folder })).out).toBe('no jobs in ./.paddlet\n');
});
