/** The checkpoint commands as a user meets them, on files. */

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeHeader, parseHeader, sealHeader } from '../../src/checkpoint/file/safetensors/header.ts';
import { carriedRecord } from '../../src/cluster/job/carried-record.ts';
import { createClock } from '../../src/host/clock.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createLog } from '../../src/host/log.ts';
import { createStorage } from '../../src/host/storage.ts';
import { keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { saveCluster } from '../checkpoint/cluster-fixture.ts';
import { IDS, JOB_ID, jobOf } from '../checkpoint/fixture.ts';
import { aJob, publishing, recordOf } from '../cluster/job/stored-job.ts';
import { type Ran, runCommand } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'paddlet-commands-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);

const paddlet = (...args: string[]): Promise<Ran> => runCommand(args, { cwd: folder });

async function json(...args: string[]) {
  const { code, out } = await paddlet(...args, '--json');
  return { code, result: JSON.parse(out) };
}

beforeAll(async () => {
  const storage = createStorage(createDisk());
  await saveCluster({ storage, pservers: 2, folder: at('a') });
  await saveCluster({ storage, pservers: 1, folder: at('b'), salt: 2, ids: IDS.slice(4), names: 10 });
  await saveCluster({
    storage,
    pservers: 1,
    folder: at('other'),
    job: jobOf({ jobId: 'job-b' }),
    names: 20,
  });
});

describe('checkpoint commands', () => {
  test('inspect: a folder, chosen tables, top rows, the digests of the model', async () => {
    const { code, result } = await json('checkpoint', 'inspect', 'a', '--vars', 'emb', '--top', '2', '--digest');
    expect(code).toBe(0);
    expect(result).toMatchObject({ jobName: 'small', shards: { total: 8, missing: [] }, dense: [] });
    expect(result.tables).toMatchObject([{ name: 'emb', width: 3, rows: IDS.length, nans: 0, top: [{}, {}] }]);
    expect(result.digests.modelDigest).toMatch(/^[0-9a-f]{64}$/);
    const text = await paddlet('checkpoint', 'inspect', 'a');
    expect(text.out).toContain('emb/values.0');
    expect(text.err).toContain('its ledger of applied tasks cannot be parsed');
    expect(text.out).toContain('cannot predict without the job');
  });

  test('inspect: the model and the data, of files that carry the record of their job', async () => {
    const data = { format: 'csv', columns: { click: 'label', price: 'number' } };
    const price = { name: 'price', present: 2, missing: 0, mean: 1, deviation: 1, min: 0, max: 2 };
    const train = { columns: { fields: 2, statistics: [price] } };
    const meta = { job: carriedRecord(recordOf(aJob({ data }), { train })) };
    await saveCluster({
      storage: createStorage(createDisk()),
      pservers: 1,
      folder: at('carrying'),
      job: jobOf({ jobId: JOB_ID }),
      meta,
    });
    const { code, result } = await json('checkpoint', 'inspect', 'carrying');
    expect(code).toBe(0);
    expect(result.job).toEqual({ model: { type: 'lr', task: 'binary' }, format: 'csv', columns: 2 });
    const { out } = await paddlet('checkpoint', 'inspect', 'carrying');
    expect(out).toContain('\nmodel lr task binary; data csv with 2 columns\n');
  });

  test('inspect: one file has a part of the shards', async () => {
    const [file] = readdirSync(at('a/1'));
    const { code, result } = await json('checkpoint', 'inspect', `a/1/${file}`);
    expect([code, result.shards.missing]).toEqual([0, [0, 2, 4, 6]]);
  });

  test('ls', async () => {
    const { code, result } = await json('checkpoint', 'ls', 'a');
    expect(code).toBe(0);
    expect(result.generations.map((one: { index: number; state: string }) => [one.index, one.state])).toEqual([
      [0, 'running'],
      [1, 'running'],
    ]);
  });

  test('diff', async () => {
    const { code, result } = await json('checkpoint', 'diff', 'a', 'b', '--vars', 'emb');
    expect(code).toBe(0);
    expect(result).toMatchObject({ same: false, tables: [{ name: 'emb', added: 0, removed: 4 }] });
    expect((await json('checkpoint', 'diff', 'a', 'a')).result.same).toBe(true);
  });

  test('diff says when a folder lacks the files of a pserver', async () => {
    cpSync(at('a/0'), at('half/0'), { recursive: true });
    const { code, out, err } = await paddlet('checkpoint', 'diff', 'a', 'half');
    expect([code, out]).toEqual([0, expect.stringContaining('the values differ')]);
    expect(err).toMatch(/half: 4 of 8 shards are not in any of the files/);
    expect(err).not.toMatch(/\/a: /);
  });

  test('restore, then verify and diff: the same again', async () => {
    const dry = await json('restore', '--from', 'a', '--to', 'dry', '--pservers', '3', '--dry-run');
    expect([dry.code, dry.result.plan.files.length]).toEqual([0, 3]);
    expect(readdirSync(folder)).not.toContain('dry');
    const { code, result } = await json('restore', '--from', 'a', '--to', 'three', '--pservers', '3');
    expect([code, result.published, result.files.length]).toEqual([0, false, 3]);
    expect((await json('checkpoint', 'verify', 'three')).result).toMatchObject({ ok: true, missing: [] });
    const two = await json('restore', '--from', 'three', '--to', 'two', '--pservers', '2');
    expect(two.result.proof).toEqual(result.proof);
    expect((await json('checkpoint', 'diff', 'a', 'two')).result.same).toBe(true);
    const again = await paddlet('restore', '--from', 'three', '--to', 'two', '--pservers', '2');
    expect([again.code, again.err]).toEqual([2, expect.stringContaining('expected a new or empty folder')]);
  });

  test('export, and not over what is there', async () => {
    const { code, result } = await json('checkpoint', 'export', 'a', '--as', 'npz', '--output', 'model.npz');
    expect([code, result.paths]).toEqual([0, [at('model.npz')]]);
    const before = readFileSync(at('model.npz'));
    const again = await json('checkpoint', 'export', 'b', '--as', 'npz', '--output', 'model.npz');
    expect([again.code, again.result.error.code]).toEqual([2, 'Usage']);
    expect(readFileSync(at('model.npz')).equals(before)).toBe(true);
  });

  test('verify: exit code 7 and the damaged part', async () => {
    await saveCluster({ storage: createStorage(createDisk()), pservers: 2, folder: at('damaged'), names: 30 });
    const [name] = readdirSync(at('damaged/0'));
    const bytes = readFileSync(at(`damaged/0/${name}`));
    bytes[bytes.length - 400]! ^= 4;
    writeFileSync(at(`damaged/0/${name}`), bytes);
    const { code, out } = await paddlet('checkpoint', 'verify', 'damaged');
    expect(code).toBe(7);
    expect(out).toMatch(/0000-\S+: (?:sparse|dense|paddlet)\/\S+: its bytes changed after it was written/);
    for (const args of [
      ['restore', '--from', 'damaged', '--to', 'never', '--pservers', '1'],
      ['checkpoint', 'export', 'damaged', '--as', 'csv', '--output', 'never'],
    ]) {
      expect(await json(...args)).toMatchObject({ code: 7, result: { error: { code: 'CheckpointCorrupt' } } });
    }
    expect(readdirSync(folder)).not.toContain('never');
  });

  test('the name of a job in a file neither paints nor moves the cursor', async () => {
    const jobName = '\u001b[31m!red\u001b[39m\u001b[2J';
    await saveCluster({
      storage: createStorage(createDisk()),
      pservers: 1,
      folder: at('painted'),
      names: 70,
      meta: { jobName },
    });
    for (const args of [
      ['checkpoint', 'verify', 'painted'],
      ['checkpoint', 'inspect', 'painted'],
      ['checkpoint', 'ls', 'painted'],
      ['checkpoint', 'export', 'painted', '--as', 'npz', '--output', 'painted.npz'],
      ['restore', '--from', 'painted', '--to', 'painted2', '--pservers', '2'],
    ]) {
      const { code, out, err } = await paddlet(...args);
      expect([args, code, `${out}${err}`.includes('\u001b')]).toEqual([args, 0, false]);
    }
    expect((await paddlet('checkpoint', 'verify', 'painted')).out).toContain(
      'of job \\u001b[31m!red\\u001b[39m\\u001b[2J',
    );
  });

  test('a shape that only the metadata claim is refused before anything is allocated, checksums or not', async () => {
    await saveCluster({ storage: createStorage(createDisk()), pservers: 1, folder: at('claims'), names: 60 });
    const path = at(`claims/0/${readdirSync(at('claims/0'))[0]}`);
    const bytes = readFileSync(path);
    const end = 8 + Number(bytes.readBigUInt64LE(0));
    const { metadata, tensors } = parseHeader(bytes.subarray(8, end), bytes.length - end, path);
    for (const shape of ['2147483648,2147483648', '1000000,1000000']) {
      const parameters = metadata.get('parameters')!.replace('[3,5]', `[${shape}]`);
      const claims = { ...Object.fromEntries(metadata), parameters, headerCrc32: '00000000' };
      const header = encodeHeader(claims, [...tensors.values()], end)!;
      sealHeader(header);
      writeFileSync(path, Buffer.concat([header, bytes.subarray(end)]));
      for (const args of [
        ['checkpoint', 'verify', 'claims'],
        ['checkpoint', 'inspect', 'claims'],
        ['checkpoint', 'export', 'claims', '--as', 'csv', '--output', 'never'],
        ['restore', '--from', 'claims', '--to', 'never', '--pservers', '1'],
      ]) {
        const { code, out, err } = await paddlet(...args);
        expect([code, `${out}${err}`]).toEqual([
          7,
          expect.stringContaining('dense.0.shape expected a shape of at most'),
        ]);
      }
    }
  });

  test.each([
    [['checkpoint', 'inspect', 'nothing'], 7, 'CheckpointMissing'],
    [['checkpoint', 'inspect', 'a', '--vars', 'x'], 2, 'Usage'],
    [['checkpoint', 'inspect'], 2, 'JobUnknown'],
    [['checkpoint', 'export', 'a', '--output', 'x', '--as', 'pickle'], 2, 'Usage'],
    [['restore', '--from', 'a', '--pservers', '2'], 2, 'Usage'],
    [['restore', '--from', 'a', '--to', 'x', '--pservers', '9'], 2, 'Usage'],
    [['restore', '--from', 'a', '--to', 'x', '--pservers', '0'], 2, 'Usage'],
    [['checkpoint', 'inspect', 'a', '--job-id', 'job-b'], 7, 'CheckpointMissing'],
  ])('%j exits with %d', async (args, code, error) => {
    expect(await json(...args)).toMatchObject({ code, result: { error: { code: error } } });
  });

  test('files of two jobs in one folder: --job chooses', async () => {
    const storage = createStorage(createDisk());
    await saveCluster({ storage, pservers: 2, folder: at('mixed'), names: 40 });
    await saveCluster({
      storage,
      pservers: 2,
      folder: at('mixed'),
      job: jobOf({ jobId: 'job-b' }),
      names: 50,
    });
    expect(await json('checkpoint', 'inspect', 'mixed')).toMatchObject({
      code: 7,
      result: { error: { message: expect.stringContaining('belongs to job small (') } },
    });
    expect((await json('checkpoint', 'inspect', 'mixed', '--job-id', 'job-b')).result.jobId).toBe('job-b');
  });

  test('restore says that there is no job in a store', async () => {
    const clock = createClock();
    const log = createLog({ level: 'error', format: 'text', write: () => {}, wallSeconds: () => 0, color: false });
    const url = `sqlite:${at('store.db')}`;
    const store = await openStore(url, { clock, log });
    await store.close();
    const missing = await json('restore', '--store', url, '--pservers', '2');
    expect(missing).toMatchObject({ code: 2, result: { error: { code: 'JobUnknown' } } });
  });

  test('forget gives up the files of a pserver that is live, and refuses one that is not', async () => {
    const clock = createClock();
    const log = createLog({ level: 'error', format: 'text', write: () => {}, wallSeconds: () => 0, color: false });
    const url = `sqlite:${at('forget.db')}`;
    const store = await openStore(url, { clock, log });
    const keys = keysOf('/paddlet/test');
    const uuid = '6f8d2c1a-0000-4000-8000-00000000000f';
    const entry = { uuid, md5: '0'.repeat(32), timestamp: 1 };
    const { leaseId } = await store.leaseGrant(60_000);
    const claim = { put: keys.ps(0), value: 'host:1', leaseId };
    const published = { put: keys.checkpoint(0), value: JSON.stringify(entry) };
    await store.txn({ if: [], then: [...publishing(keys, recordOf(aJob())), claim, published] });
    const forget = (index: string) => json('checkpoint', 'forget', '--store', url, '--index', index);
    expect(await forget('0')).toMatchObject({ code: 0, result: { index: 0, files: [uuid] } });
    expect((await store.get(keys.forgotten(0)))?.value).toBe(JSON.stringify({ files: [uuid] }));
    expect(await forget('1')).toMatchObject({ code: 2, result: { error: { code: 'JobUnknown' } } });
    await store.close();
  });

  test('a restore waits for the lease of a dead pserver for --wait, and not for --timeout alone', async () => {
    const clock = createClock();
    const log = createLog({ level: 'error', format: 'text', write: () => {}, wallSeconds: () => 0, color: false });
    const url = `sqlite:${at('leased.db')}`;
    const store = await openStore(url, { clock, log });
    const keys = keysOf('/paddlet/test');
    // Longer than --timeout, which is long for a store that answers at once.
    const { leaseId } = await store.leaseGrant(7_000);
    const claim = { put: keys.ps(0), value: 'host:1', leaseId };
    await store.txn({ if: [], then: [...publishing(keys, recordOf(aJob())), claim] });
    await store.close();
    const restore = (wait: string) =>
      json('restore', '--store', url, '--pservers', '2', '--timeout', '6s', '--wait', wait);
    expect(await restore('0s')).toMatchObject({ code: 2, result: { error: { code: 'JobConflict' } } });
    expect(await restore('1m')).toMatchObject({ code: 7, result: { error: { code: 'CheckpointMissing' } } });
  });
});
