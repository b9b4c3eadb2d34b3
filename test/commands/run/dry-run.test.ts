/** `run --dry-run` says what the same command without it does, and leaves everything as it is. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { dryRunText } from '../../../src/commands/run/dry-run-text.ts';
import { lockFolder } from '../../../src/host/folder-lock.ts';
import { type Ran, runCommand } from '../run-command.ts';

// A whole cluster of processes, beside the other tests.
vi.setConfig({ testTimeout: 300_000 });

interface Given {
  readonly data?: object;
  readonly model?: object;
  readonly training?: object;
  readonly cluster?: object;
}

function inFolder({ data, model = { type: 'lr' }, training, cluster }: Given = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-dry-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const lines = ['1 1:1', '0 2:1', '1 1:1 6:1', '0 2:1 3:1', '1 4:1'];
  writeFileSync(join(cwd, 'train'), `${lines.join('\n')}\n`);
  writeFileSync(join(cwd, 'test'), '1 1:1\n');
  const files = { train: 'train', test: 'test', format: 'libsvm', recordsPerTask: 3 };
  const job = { name: 'small', data: { ...files, ...data }, model };
  writeFileSync(
    join(cwd, 'job.yaml'),
    JSON.stringify({ ...job, training: { passes: 4, batchSize: 2, ...training }, cluster: { shards: 4, ...cluster } }),
  );
  const run = (...more: string[]): Promise<Ran> => runCommand(['run', 'job.yaml', ...more], { cwd });
  const planned = async (...more: string[]) => JSON.parse((await run('--dry-run', '--json', ...more)).out);
  return { cwd, run, planned };
}

/** Names, sizes and times of all files, but for what SQLite makes while it reads. */
const stateOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/store\.db-|\/cache/.test(name))
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${size} ${statSync(join(folder, name)).isFile() ? mtimeMs : ''}`;
    })
    .sort();

test('a new job: its data, work, parameters and processes', async () => {
  const { cwd, planned, run } = inFolder({ cluster: { pservers: 2, trainers: 3 } });
  const { would, plan, folder } = await planned();
  expect(would).toBe('begin');
  expect(folder).toBe(join(cwd, '.paddlet/small'));
  expect(plan).toMatchObject({
    data: { train: { files: 1, records: 5, tasks: 2 }, test: { files: 1, records: 1, tasks: 1 } },
    work: { of: 'mini-batches', perPass: 3, total: 12 },
    processes: { masters: 1, pservers: 2, trainers: 3 },
    // AdaGrad keeps one float for each of the model.
    parameters: [
      { name: 'bias', optimizer: 'adagrad', shape: [1], bytes: 8 },
      { name: 'w', optimizer: 'adagrad', rowBytes: 16, rowsAtMost: 7, bytes: 112 },
    ],
    memory: { denseBytes: 8, tableBytesAtMost: 56, tableMemoryBytesAtMost: 101 },
    checkpoints: { bytes: 120, isAtLeast: false, generations: 3, folder: join(folder, 'checkpoints') },
  });
  expect(plan.checkpoints.freeBytes).toBeGreaterThan(0);
  expect(existsSync(folder)).toBe(false);
  const { code, out } = await run('--dry-run', '--trainers', '1');
  expect(code).toBe(0);
  expect(out).toContain('job small would start: the job does not exist yet\n');
  expect(out).toContain('\ndata        5 records in 1 file: 2 tasks of up to 3 records; test: 1 records in 1 file\n');
  expect(out).toContain('\nprocesses   1 master, 2 pservers, 1 trainer\n');
  expect(out).toContain('\n            w, adagrad: at most 7 rows of 16 bytes, 112 bytes\n');
});

test('rounds in sync mode, and steps of Adam', async () => {
  const { planned } = inFolder({ training: { mode: 'sync', lanes: 1, batchSize: 1 } });
  const { plan } = await planned('--set', 'optimizer={type: adam}');
  expect(plan.work).toEqual({ of: 'rounds', perPass: 5, total: 20, isExact: true });
  expect(plan.parameters).toMatchObject([{ bytes: 16 }, { rowBytes: 24 }]);
});

test('rounds of very many passes are told about, not counted one by one', async () => {
  const { planned, run } = inFolder({ training: { mode: 'sync', passes: 1_000_000, lanes: 2 } });
  const { work } = (await planned('--set', 'data.recordsPerTask=1')).plan;
  expect(work).toEqual({ of: 'rounds', perPass: 3, total: 3_000_000, isExact: false });
  expect((await run('--dry-run', '--set', 'data.recordsPerTask=1')).out).toContain('about 3,000,000 in all');
});

test('tables of categories are bounded where their ids are', async () => {
  const { cwd, planned } = inFolder({ data: { format: 'csv', test: [] }, cluster: { pservers: 1 } });
  writeFileSync(join(cwd, 'train'), 'y,n,c\n1,2,a\n0,3,b\n');
  const columns = (c: string): string => `data.columns={y: label, n: number, c: ${c}}`;
  const planOf = async (c: string) => (await planned('-s', columns(c), '-s', 'data.test=train')).plan;
  const bounded = await planOf('{ type: category, buckets: 10 }');
  // The number has an id, and one for records that lack it; categories have one for these, too.
  expect(bounded.parameters[1]).toMatchObject({ rowsAtMost: 13 });
  const open = await planOf('category');
  expect(open.parameters[1]).not.toHaveProperty('rowsAtMost');
  expect(open.memory).not.toHaveProperty('tableBytesAtMost');
  expect(open.checkpoints).toMatchObject({ bytes: 8, isAtLeast: true });
});

test('what is wrong is what a run says, with its exit code', async () => {
  const { run, cwd } = inFolder();
  rmSync(join(cwd, 'train'));
  const dry = await run('--dry-run');
  expect(dry.code).toBe(3);
  expect(dry).toEqual(await run());
  expect((await run('--dry-run', '--attach')).code).toBe(2);
});

test('a job that exists: shown, continued, refused or begun again, and left as it is', async () => {
  const { cwd, run, planned } = inFolder();
  expect((await run()).code).toBe(0);
  const before = stateOf(cwd);
  expect(await planned()).toMatchObject({ would: 'showEnd' });
  expect(await planned('--passes', '6')).toMatchObject({ would: 'continue', plan: { work: { total: 18 } } });
  expect(await planned('--fresh')).toMatchObject({ would: 'startOver' });
  const refused = await run('--dry-run', '--set', 'training.batchSize=1');
  expect(refused.err).toContain('error JobConflict: job small is finished; it was trained with different settings');
  expect(stateOf(cwd)).toEqual(before);
  expect(refused).toEqual(await run('--set', 'training.batchSize=1'));
});

test('a folder in which a run works is left to it', async () => {
  const { cwd, run } = inFolder();
  mkdirSync(join(cwd, 'job'));
  const lock = lockFolder(join(cwd, 'job'));
  onTestFinished(() => lock?.release());
  const { code, err } = await run('--dry-run', '--dir', 'job');
  expect(code).toBe(2);
  expect(err).toContain('error JobConflict: another `paddlet run` works in');
});

test('what would be deleted of a job that is not finished is told', async () => {
  const { planned } = inFolder();
  const begun = { ...(await planned()), would: 'startOver', deletes: { pass: 2, savedAt: 0 } };
  const first = dryRunText(begun).split('\n')[0];
  const progress = '2 passes done, newest checkpoint of 1970-01-01T00:00:00.000Z';
  expect(first).toContain(`the earlier run is deleted. It is not finished (${progress}): asks first, unless --yes`);
});

test('a job that has failed is answered as a run answers', async () => {
  const { cwd, run } = inFolder();
  const good = ['1 1:1', '0 2:1', '1 1:1 6:1'];
  writeFileSync(join(cwd, 'train'), `${[...good, '1 x', '0 y', '1 z'].join('\n')}\n`);
  const failed = await run('--passes', '1');
  expect(failed.err).toMatch(/^error (\w+): /m);
  const dry = await run('--passes', '1', '--dry-run');
  expect([dry.code, dry.out]).toEqual([failed.code, '']);
  expect(dry.err).toContain(/^error (\w+): /m.exec(failed.err)![1]!);
});
