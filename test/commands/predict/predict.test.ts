/** `paddlet predict` with the checkpoints of a job: files, pipes, readers that go away, and what is refused. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { COMPILED, ENTRY, type Ran, runCommand } from '../run-command.ts';
import { endJob, keys, type StoredJob, storedJob } from '../saved-job.ts';

async function endedJob(): Promise<StoredJob> {
  const job = await storedJob('small');
  await endJob(job);
  writeFileSync(join(job.cwd, 'some.txt'), '1 1:1\n0 2:bad\n? 2:1\n1 2:1 77:3\n');
  return job;
}

const predict = ({ cwd }: StoredJob, ...words: string[]): Promise<Ran> => runCommand(['predict', ...words], { cwd });

test('scores go to stdout, what there is to say to stderr; --strict makes an error of bad records', async () => {
  const job = await endedJob();
  const { code, out, err } = await predict(job, '--data', 'some.txt', '--errors', '--strict');
  const [head, ...lines] = out.trim().split('\n');
  expect(head).toBe('score,error');
  expect(lines.map((line) => line.replace(/^0\.\d+/, 'P'))).toEqual([
    ...['P,', expect.stringMatching(/^,"value ""bad"" of/), expect.stringMatching(/^,"label ""\?"" is not/), 'P,'],
  ]);
  expect(err).toMatch(
    /^4 records scored by the checkpoints of job small .*\n2 without a score:\n {2}some.txt:2: value "bad"/,
  );
  expect(err).toContain('1 of 3 features are unknown to the model');
  expect(code).toBe(3);
  const plain = await predict(job, '--data', 'some.txt');
  expect([plain.code, plain.out.replace(/0\.\d+/g, 'P')]).toEqual([0, 'score\nP\n""\n""\nP\n']);
  expect(plain.err).toContain('\n2 without a score:\n  some.txt:2: value "bad"');
});

test('a job that has not finished training is named', async () => {
  const job = await endedJob();
  const unfinished = 'job small has not finished training: scoring its newest checkpoints';
  expect((await predict(job, '--data', 'some.txt')).err).not.toContain(unfinished);
  await job.store.txn({ if: [], then: [{ delete: keys.result }] });
  const { code, err } = await predict(job, '--data', 'some.txt');
  expect([code, err]).toEqual([0, expect.stringContaining(unfinished)]);
});

test('an input without records is named; --strict makes an error of it', async () => {
  const job = await endedJob();
  writeFileSync(join(job.cwd, 'none.txt'), '');
  const { code, err } = await predict(job, '--data', 'none.txt', '--strict');
  expect([code, err]).toEqual([3, expect.stringContaining('the input has no records')]);
  expect((await predict(job, '--data', 'none.txt')).code).toBe(0);
});

test('a file appears whole, is not overwritten by accident, and says the same', async () => {
  const job = await endedJob();
  const to = ['small', '--data', 'some.txt', '--output', 'scores.jsonl', '--as', 'jsonl', '--errors'];
  const { code, out } = await predict(job, ...to, '--json');
  expect([code, JSON.parse(out)]).toMatchObject([0, { records: 4, bad: 2, features: 3, unknownFeatures: 1 }]);
  const written = readFileSync(join(job.cwd, 'scores.jsonl'), 'utf8');
  expect(
    written
      .trim()
      .split('\n')
      .map((line) => Object.keys(JSON.parse(line))),
  ).toEqual([...[['score'], ['score', 'error'], ['score', 'error'], ['score']]]);
  expect(await predict(job, ...to)).toMatchObject({ code: 2, err: expect.stringContaining('--replace') });
  expect((await predict(job, ...to, '--replace')).code).toBe(0);
  expect(readFileSync(join(job.cwd, 'scores.jsonl'), 'utf8')).toBe(written);
  const table = ['--data', 'some.txt', '--output', 'scores.parquet', '--as', 'parquet', '--threads', '2'];
  expect((await predict(job, ...table)).code).toBe(0);
  const rows = await parquetReadObjects({ file: new Uint8Array(readFileSync(join(job.cwd, 'scores.parquet'))).buffer });
  const scoreOf = (line: string): number | null =>
    JSON.parse(line, (_, value) => (typeof value === 'number' ? Math.fround(value) : value)).score;
  expect(rows.map((row) => Object.keys(row))).toEqual(rows.map(() => ['score']));
  expect(rows.map(({ score }) => score)).toEqual(written.trim().split('\n').map(scoreOf));
});

test('the ending of the output says its format, and it is never the input', async () => {
  const job = await endedJob();
  const written = async (name: string, ...more: string[]) => {
    expect((await predict(job, '--data', 'some.txt', '--output', name, ...more)).code).toBe(0);
    return readFileSync(join(job.cwd, name), 'latin1');
  };
  expect(await written('ended.parquet')).toMatch(/^PAR1/);
  expect(await written('ended.jsonl')).toMatch(/^{"score":/);
  expect(await written('ended.txt')).toMatch(/^score\n/);
  expect(await written('said.parquet', '--as', 'csv')).toMatch(/^score\n/);
  const before = readFileSync(join(job.cwd, 'some.txt'), 'utf8');
  const onto = await predict(job, '--data', 'some.txt', '--output', './some.txt', '--replace');
  expect(onto).toMatchObject({ code: 2, err: expect.stringContaining('--output ./some.txt is the file to score') });
  expect(readFileSync(join(job.cwd, 'some.txt'), 'utf8')).toBe(before);
});

test('of a prediction that fails no file stays', async () => {
  const job = await endedJob();
  writeFileSync(join(job.cwd, 'broken.gz'), Buffer.from([31, 139, 8, 0, 1]));
  const { code, err } = await predict(job, '--data', 'broken.gz', '--output', 'scores.csv');
  expect([code, err]).toEqual([3, expect.stringContaining('broken.gz is not a valid gzip file')]);
  expect(readdirSync(job.cwd).filter((name) => name.startsWith('scores'))).toEqual([]);
});

test('what is refused, with what to do', async () => {
  const job = await endedJob();
  mkdirSync(join(job.cwd, 'folder'));
  for (const [words, exit, message] of [
    [['--data', '-'], 2, 'expected --format for records from stdin'],
    [['--data', 'some.txt', '--format', 'csv'], 2, 'the model takes records of libsvm, not of csv'],
    [['--data', 'some.txt', '--keep', 'id'], 2, 'libsvm has no columns to keep'],
    [['--data', 'none.txt'], 3, 'no such data file: none.txt'],
    [['--data', 'folder'], 3, 'folder is a folder'],
    [['--data', '/dev/zero'], 3, '/dev/zero is not a regular file'],
    [['--data', ''], 2, '--data is empty'],
    [['--data', 'some.txt', '--output', 'folder', '--replace'], 2, 'folder is not a file'],
    [['other', '--data', 'some.txt'], 2, 'no job other'],
    [['small', '--data', 'some.txt', '--dir', 'folder'], 2, 'no job small in'],
  ] as const) {
    const { code, err, out } = await predict(job, ...words);
    expect([code, out, err], words.join(' ')).toEqual([exit, '', expect.stringContaining(message)]);
    expect(err, words.join(' ')).toContain('\nhint: ');
  }
});

test('a job by its name, its folder, or its name in a store; a checkpoint by its path', async () => {
  const job = await endedJob();
  const data = ['--data', 'test.libsvm'];
  const outs = [];
  for (const words of [
    ['small'],
    ['.paddlet/small'],
    ['small', '--store', job.url],
    ['.paddlet/small/checkpoints'],
    [],
  ]) {
    outs.push((await predict(job, ...words, ...data)).out);
  }
  expect(outs).toEqual(outs.map(() => expect.stringMatching(/^score\n(0\.\d+\n){3}$/)));
});

test('threads write the same bytes, and tell of the same errors', async () => {
  const job = await endedJob();
  const lines = Array.from({ length: 9_000 }, (_, at) => `1 ${at}:1 ${'0'.repeat(at % 300)}${at % 7}:0.5\n`);
  writeFileSync(join(job.cwd, 'many.txt'), `${lines.join('')}1 1:x\n`);
  const [one, two] = [
    await predict(job, '--data', 'many.txt'),
    await predict(job, '--data', 'many.txt', '--threads', '2'),
  ];
  expect(two.out).toBe(one.out);
  expect(one.out.split('\n')).toHaveLength(9_003);
  expect((await predict(job, '--data', 'many.txt', '--errors', '--threads', '2')).out).toBe(
    (await predict(job, '--data', 'many.txt', '--errors')).out,
  );
  const told = ({ err }: Ran): string => err.replace(/ in .*/, '');
  expect(told(two)).toBe(told(one));
  expect(told(one)).toContain('many.txt:9001: value "x"');
});

test('from a pipe to a reader that has seen enough: it ends well, and long before its input', async () => {
  const { cwd } = await endedJob();
  const command = `${process.execPath} ${ENTRY} predict --data - --format libfm`;
  const line = `yes '1 1:1' | (${command}; echo "code $?" >&2) | head -n 3`;
  const { out, err } = await new Promise<Pick<Ran, 'out' | 'err'>>((resolve) => {
    const env = { ...COMPILED, PATH: process.env.PATH };
    execFile('sh', ['-c', line], { cwd, env }, (_error, out, err) => resolve({ out, err }));
  });
  expect([err, out]).toEqual(['code 0\n', expect.stringMatching(/^score\n(0\.\d+\n){2}$/)]);
});
