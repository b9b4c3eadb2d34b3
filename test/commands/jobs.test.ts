/** `paddlet jobs` lists the jobs of ./.paddlet and of a store; `paddlet jobs delete` deletes one. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { readJobRecord } from '../../src/cluster/job/job-record.ts';
import { folderUse } from '../../src/commands/jobs/folder-use.ts';
import { deleteJob } from '../../src/commands/run/reset-job.ts';
import { createClock } from '../../src/host/clock.ts';
import { createDisk } from '../../src/host/disk.ts';
import { lockFolder } from '../../src/host/folder-lock.ts';
import { createStorage } from '../../src/host/storage.ts';
import type { Network } from '../../src/protocol/messages/channel.ts';
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
    const seen = { created: expect.any(Number), lastAlive: expect.any(Number), bytes: expect.any(Number) };
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
    expect(text).toMatch(
      /^name +state +progress +age +last alive +size +where\ndamaged +StoreInvalid +\.paddlet\/damaged\n/,
    );
    expect(text).toMatch(/\nsmall +failed +\d.*? (s|min|h|d) +\d.* ago +[\d.]+ kB +\.paddlet\/small\n/);
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
      {
        name: 'other',
        store: job.url,
        error: expect.objectContaining({ code: expect.any(String), message: expect.any(String) }),
      },
      {
        ...{ name: 'small', store: job.url, state: 'stopped', bytes: 0 },
        ...{ created: expect.any(Number), lastAlive: expect.any(Number) },
      },
    ],
  });
  await job.store.txn({ if: [], then: [{ deletePrefix: '/paddlet/' }, { put: '/mine/job', value: '{}' }] });
  expect((await run(job, 'jobs')).out).toContain('has no job below /paddlet/; its first key is /mine/job');
  await job.store.txn({ if: [], then: [{ deletePrefix: '/' }] });
  const { jobs } = JSON.parse((await run(job, 'jobs', '--json')).out);
  expect(jobs).toEqual([{ name: 'small', folder: job.folder, state: 'not started', bytes: expect.any(Number) }]);
  expect((await run(job, 'jobs', '--store', job.url)).out).toBe('no jobs in the store\n');
  expect((await runCommand(['jobs'], { cwd: job.folder })).out).toBe('no jobs in ./.paddlet\n');
});

const deleting = (job: StoredJob, ...words: string[]) => run(job, 'jobs', 'delete', 'small', ...words);

test('delete removes keys, checkpoints and folder, and asks before', async () => {
  const job = await storedJob('small');
  await endJob(job);
  for (const [name, text] of [['logs/run.log'], ['bad-records/mine.txt'], ['job.yaml'], ['run.json', '{}']] as const) {
    mkdirSync(dirname(join(job.folder, name)), { recursive: true });
    writeFileSync(join(job.folder, name), text ?? '');
  }
  const asked = await deleting(job);
  expect([asked.code, asked.err]).toEqual([
    2,
    expect.stringContaining('hint: `paddlet jobs delete small --yes` deletes'),
  ]);
  expect((await run(job, 'jobs', 'delete')).code).toBe(2);
  const lock = lockFolder(job.folder)!;
  const refused = await deleting(job, '--yes');
  lock.release();
  expect([refused.code, refused.err]).toEqual([expect.any(Number), expect.stringContaining('JobConflict')]);
  expect(refused.err).toContain('hint: stop the job first with `paddlet stop .paddlet/small`');
  expect((await job.store.get(keys.result)) === undefined).toBe(false);
  const before = folderUse(job.folder).bytes;
  const { code, out } = await run(job, 'jobs', 'rm', 'small', '--yes', '--json');
  const freedBytes = before - folderUse(job.folder).bytes;
  expect(freedBytes).toBeGreaterThan(10_000);
  expect([code, JSON.parse(out)]).toEqual([
    0,
    { job: 'small', deleted: true, freedBytes, kept: [`${job.folder} stays: it holds bad-records`] },
  ]);
  expect(readdirSync(job.folder)).toEqual(['bad-records']);
  expect((await deleting(job, '--yes')).err).toContain('error JobUnknown: ');
});

test.each([0, 1])(
  'a deletion whose disk fails after %d files can be repeated, and no role resumes the job',
  async (most) => {
    const job = await storedJob('small');
    await endJob(job);
    const storage = createStorage(createDisk());
    let removed = 0;
    const remove = async (path: string): Promise<void> => {
      if (removed++ >= most) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'unlink' });
      await storage.delete(path);
    };
    const tried = deleteJob({
      ...{ clock: createClock(), log: SILENT, storage: { ...storage, delete: remove }, store: job.store, keys },
      ...{ network: {} as Network, signal: new AbortController().signal, leaseTtlMs: 0 },
      folder: join(job.folder, 'checkpoints'),
    });
    await expect(tried).rejects.toThrow('EIO');
    await expect(readJobRecord(job.store, keys)).rejects.toMatchObject({ code: 'VersionMismatch' });
    const { code, out } = await deleting(job, '--yes');
    expect([code, out]).toEqual([0, expect.stringMatching(/^deleted the job small: [\d.]+ kB freed\n$/)]);
    expect(readdirSync(join(job.cwd, '.paddlet'))).toEqual([]);
  },
);

test.each([false, true])(
  'a deletion that ends between the files and the keys can be repeated, with --store %s',
  async (isByStore) => {
    const job = await storedJob('small');
    const { store } = job;
    await endJob(job);
    const write = store.txn.bind(store);
    const spied = vi.spyOn(store, 'txn').mockImplementation((txn) => {
      if (txn.then.some((op) => 'deletePrefix' in op)) throw new Error('killed');
      return write(txn);
    });
    const tried = deleteJob({
      ...{ clock: createClock(), log: SILENT, storage: createStorage(createDisk()), store, keys },
      ...{ network: {} as Network, signal: new AbortController().signal, leaseTtlMs: 0 },
      folder: join(job.folder, 'checkpoints'),
    });
    await expect(tried).rejects.toThrow('killed');
    spied.mockRestore();
    // Empty folders.
    expect(readdirSync(join(job.folder, 'checkpoints'), { recursive: true })).toEqual(['0', '1']);
    expect((await store.get(keys.result))?.value).toBe('{}');
    expect((await deleting(job, ...(isByStore ? ['--store', job.url] : []), '--yes')).code).toBe(0);
    if (isByStore) expect((await store.range({ prefix: '/' })).entries).toEqual([]);
    expect(readdirSync(join(job.cwd, '.paddlet'))).toEqual(isByStore ? ['small'] : []);
  },
);

test('a deletion that was killed before it removed the folder can be repeated', async () => {
  const job = await storedJob('small');
  await job.store.txn({ if: [], then: [{ deletePrefix: '/' }] });
  expect((await run(job, 'jobs')).out).toContain('`paddlet jobs delete small`');
  expect((await deleting(job, '--yes')).code).toBe(0);
  expect(readdirSync(join(job.cwd, '.paddlet'))).toEqual([]);
});

test('with --store only the keys of the job are deleted, and the folder stays', async () => {
  const job = await storedJob('small');
  await endJob(job);
  await put(job.store, '/paddlet/other/job', '{}');
  const { code, out } = await deleting(job, '--store', job.url, '--yes');
  expect([code, out]).toEqual([0, expect.stringMatching(/^deleted the job small: 0 B freed\ncheckpoints stay: /)]);
  expect((await job.store.range({ prefix: '/' })).entries.map(({ key }) => key)).toEqual(['/paddlet/other/job']);
  expect(readdirSync(join(job.folder, 'checkpoints')).length).toBeGreaterThan(0);
  const { err } = await deleting(job, '--store', job.url, '--yes');
  expect(err).toContain('error JobUnknown: no job small in ');
});
