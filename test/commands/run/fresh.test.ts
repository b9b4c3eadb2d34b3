/** `run --fresh` in a folder: the store in it may be somebody else's, or in use. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { createHost } from '../../../src/host/host.ts';
import { NO_JOIN_TOKEN } from '../../../src/protocol/join/token.ts';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { put, SILENT } from '../../store/support.ts';
import { runCommand } from '../run-command.ts';

const keys = keysOf('/paddlet/small');

const JOB = {
  name: 'small',
  data: { train: 'train', format: 'libsvm' },
  model: { type: 'lr' },
  training: { passes: 1 },
};

const LISTS = ['bad-records/train-0-0123abcd.jsonl', 'bad-records/notes.jsonl'];
const OLD = 'a line of the run before';

/** `leaseTtl`: that of the leases of a job, for which `--fresh` waits, too. */
function openFolder(leaseTtl = '15s') {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-fresh-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (...names: string[]): string => join(folder, ...names);
  mkdirSync(at('job/checkpoints/0'), { recursive: true });
  for (const name of ['logs', 'bad-records']) mkdirSync(at('job', name));
  for (const name of ['checkpoints/0/notes.txt', 'logs/master.log', 'logs/notes.txt', ...LISTS])
    writeFileSync(at('job', name), '');
  writeFileSync(at('job.yaml'), JSON.stringify({ ...JOB, cluster: { pservers: 1, trainers: 1, shards: 1, leaseTtl } }));
  writeFileSync(at('train'), '1 1:1\n0 2:1\n');
  const fresh = async (): Promise<{ code: number; error: { code: string; message: string; hint?: string } }> => {
    const words = ['run', 'job.yaml', '--dir', 'job', '--fresh', '--json'];
    const { code, out } = await runCommand(words, { cwd: folder });
    return { code, error: JSON.parse(out).error };
  };
  return { at, fresh };
}

test('a job that somebody works on is refused, and nothing is removed', async () => {
  const { at, fresh } = openFolder('1s');
  const store = await openStore(`sqlite:${at('job/store.db')}`, { clock: createClock(), log: SILENT });
  onTestFinished(() => store.close());
  await put(store, keys.job, '{}');
  const master = await createWebSocketNetwork({
    ...createHost({ logLevel: 'error', logFormat: 'text' }),
    // As before it has published the job: then the command has no token either.
    joinToken: NO_JOIN_TOKEN,
  }).listen({
    listen: '127.0.0.1:0',
    handler: () => ({ header: { type: 'info', info: {} } }),
    http: async () => undefined,
  });
  onTestFinished(() => master.close());
  const address = `127.0.0.1:${master.port}`;
  await put(store, keys.masterLock, JSON.stringify({ address }), (await store.leaseGrant(600_000)).leaseId);
  const refused = await fresh();
  expect(refused).toMatchObject({ code: 2, error: { code: 'JobConflict', message: expect.stringContaining(address) } });
  // Of a store that was removed this would be refused.
  expect(await store.get(keys.job)).toMatchObject({ value: '{}' });
  expect(existsSync(at('job/logs/master.log'))).toBe(true);
});

test('a store that no process uses is reset; other files stay', async () => {
  const { at, fresh } = openFolder();
  const store = await openStore(`sqlite:${at('job/store.db')}`, { clock: createClock(), log: SILENT });
  onTestFinished(() => store.close());
  await put(store, keys.job, '{}');
  await put(store, '/paddlet/neighbor/job', '{}');
  writeFileSync(at('job/logs/master.log'), OLD);
  // The neighbor's logs have the same names.
  expect(await fresh()).toMatchObject({ code: 0 });
  expect(existsSync(at('job', LISTS[0]!))).toBe(true);
  expect(await store.get('/paddlet/neighbor/job')).toBeDefined();
  expect(readFileSync(at('job/logs/master.log'), 'utf8')).toContain(OLD);
  await store.txn({ if: [], then: [{ deletePrefix: '/paddlet/neighbor/' }] });
  const { revision } = await store.identity();
  // A store without any job is its own.
  await store.txn({ if: [], then: [{ deletePrefix: '/' }] });
  expect(await fresh()).toMatchObject({ code: 0 });
  expect((await store.identity()).revision).toBeGreaterThan(revision);
  expect(readFileSync(at('job/logs/master.log'), 'utf8')).not.toContain(OLD);
  expect(existsSync(at('job', LISTS[0]!))).toBe(false);
  for (const name of ['checkpoints/0/notes.txt', 'logs/notes.txt', LISTS[1]!])
    expect(existsSync(at('job', name))).toBe(true);
});

test.each([
  ['the database of another program', 'the file is a database of another program'],
  ['no database', 'not a database'],
])('a store.db that is %s stays as it is', async (what, message) => {
  const { at, fresh } = openFolder();
  const path = at('job/store.db');
  if (what === 'no database') writeFileSync(path, 'accounts of 1987\n'.repeat(500));
  else {
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE accounts (year INTEGER)');
    db.close();
  }
  const before = readFileSync(path);
  const { code, error } = await fresh();
  expect([code, error]).toEqual([
    4,
    expect.objectContaining({
      code: 'StoreInvalid',
      message: expect.stringContaining(message),
      hint: expect.stringContaining('remove it by hand'),
    }),
  ]);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(existsSync(at('job/logs/master.log'))).toBe(true);
});
