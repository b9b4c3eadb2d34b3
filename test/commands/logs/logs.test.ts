/** `paddlet logs`: log files as one log, in the order of time. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { isOfLevel, LogReader, type LogRecord, merged } from '../../../src/commands/logs/log-records.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createLog } from '../../../src/host/log.ts';
import { runCommand } from '../run-command.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-logs-'));
  mkdirSync(join(folder, 'logs'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

const path = (name: string): string => join(folder, 'logs', `${name}.log`);
const line = (second: number, text: string, level = 'info '): string =>
  `2026-11-27T18:00:0${second}.000Z ${level} ${text}\n`;

async function all(records: AsyncGenerator<LogRecord>): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, text } of records) found.push(`${name}: ${text}`);
  return found;
}

it('keeps lines without a time with the entry before, and waits for the end of a line', async () => {
  writeFileSync(
    path('master'),
    `${line(1, 'one')}${line(2, 'a bug', 'error')}    at here\n    at there\n2026-11-27T18:0`,
  );
  const reader = new LogReader(createDisk(), 'master', { path: path('master') });
  expect(await all(reader.records())).toEqual([
    `master: ${line(1, 'one').trimEnd()}`,
    `master: ${line(2, 'a bug', 'error').trimEnd()}\n    at here\n    at there`,
  ]);
  expect(await all(reader.records())).toEqual([]);
  appendFileSync(path('master'), `0:03.000Z info  three\n`);
  expect(await all(reader.records())).toEqual([`master: ${line(3, 'three').trimEnd()}`]);
});

it('begins in the middle of a file with the next line, and has what is left at the end', async () => {
  writeFileSync(path('master'), `${line(1, 'one')}${line(2, 'two', 'warn ')}    at here\n    at th`);
  const reader = new LogReader(createDisk(), 'master', {
    path: path('master'),
    from: { number: 1, offset: 10 },
  });
  expect(await all(reader.records())).toEqual([`master: ${line(2, 'two', 'warn ').trimEnd()}\n    at here`]);
  appendFileSync(path('master'), 'ere\n');
  const later = [];
  for await (const record of reader.records()) later.push(record);
  expect(later).toMatchObject([{ level: 'warn', text: '    at there' }]);
  appendFileSync(path('master'), 'cut');
  expect([await all(reader.records()), reader.rest().map(({ text }) => text), reader.rest()]).toEqual([
    [],
    ['cut'],
    [],
  ]);
});

it('reads what a log writes, in both formats', async () => {
  const identity = { role: 'pserver', index: 0, job: 'small', host: 'box', pid: 123 };
  const formats = ['text', 'json'] as const;
  for (const format of formats) {
    const write = (text: string): void => appendFileSync(path('pserver-0'), `${text}\n`);
    const options = { level: 'info', wallSeconds: () => 1_700_000_000.5, color: false, write } as const;
    createLog({ ...options, identity, format }).error('a bug', { error: new TypeError('broken') });
  }
  const records = [];
  for await (const record of new LogReader(createDisk(), 'pserver-0', { path: path('pserver-0') }).records())
    records.push(record);
  expect(records).toMatchObject(formats.map(() => ({ level: 'error', timeMs: 1_700_000_000_500 })));
});

it('reads JSON lines', async () => {
  const json = (second: number, level: string) =>
    JSON.stringify({
      time: `2026-11-27T18:00:0${second}.000Z`,
      level,
      role: 'master',
      host: 'box',
      pid: 1,
      message: 'm',
    });
  writeFileSync(path('master'), `${json(1, 'info')}\n${json(2, 'warn')}\n{"no": "entry"}\n`);
  const records = [];
  for await (const record of new LogReader(createDisk(), 'master', { path: path('master') }).records())
    records.push(record);
  expect(records.map(({ level, timeMs }) => [level, new Date(timeMs).getUTCSeconds()])).toEqual([
    ...[
      ['info', 1],
      ['warn', 2],
    ],
  ]);
  expect(records[1]!.text.split('\n')).toHaveLength(2);
});

it('merges logs by time; entries of one log keep their order', async () => {
  writeFileSync(path('master'), `${line(1, 'a')}${line(4, 'c')}${line(4, 'd')}`);
  writeFileSync(path('trainer-0'), `${line(2, 'b')}${line(4, 'e')}${line(5, 'f')}`);
  const readers = ['master', 'trainer-0'].map((name) =>
    new LogReader(createDisk(), name, { path: path(name) }).records(),
  );
  expect((await all(merged(readers))).map((text) => text.at(-1)).join('')).toBe('abcdef');
});

it('reads the files of one log as one, the oldest first', async () => {
  writeFileSync(`${path('master')}.1`, `${line(1, 'one')}${line(2, 'a bug', 'error')}`);
  writeFileSync(`${path('master')}.2`, `    at here\n${line(3, 'three')}`);
  writeFileSync(path('master'), line(5, 'five'));
  writeFileSync(path('trainer-0'), line(4, 'four'));
  const logs = async (...words: string[]): Promise<string[]> => {
    const { out } = await runCommand(['logs', '--dir', folder, ...words], { cwd: folder });
    return out.trimEnd().split('\n');
  };
  expect((await logs()).map((text) => text.split(' ').at(-1))).toEqual([
    ...['one', 'bug', 'here', 'three', 'four', 'five'],
  ]);
  expect(await logs('master', '--log-level', 'error')).toEqual([line(2, 'a bug', 'error').trimEnd(), '    at here']);
  expect(await logs('master', '-n', '2', '-f')).toEqual([line(3, 'three').trimEnd(), line(5, 'five').trimEnd()]);
});

it('knows levels', () => {
  const record = { name: '', timeMs: 0, level: 'warn', text: '' } as const;
  expect([undefined, 'info', 'warn', 'error'].map((lowest) => isOfLevel(record, lowest as 'info'))).toEqual([
    ...[true, true, true, false],
  ]);
});

it('shows the last entries of some or of all, and says which logs there are', async () => {
  writeFileSync(path('master'), line(1, 'master is up'));
  for (const index of [0, 1, 10]) writeFileSync(path(`trainer-${index}`), line(index % 9, `trainer ${index}`, 'warn '));
  writeFileSync(path('other'), 'no log of ours');
  const logs = async (...words: string[]): Promise<string[]> => {
    const { code, out, err } = await runCommand(['logs', '--dir', folder, ...words], { cwd: folder });
    return [String(code), ...(out + err).trimEnd().split('\n')];
  };
  expect(await logs()).toEqual([
    '0',
    `trainer-0   ${line(0, 'trainer 0', 'warn ').trimEnd()}`,
    `master      ${line(1, 'master is up').trimEnd()}`,
    `trainer-1   ${line(1, 'trainer 1', 'warn ').trimEnd()}`,
    `trainer-10  ${line(1, 'trainer 10', 'warn ').trimEnd()}`,
  ]);
  expect(await logs('trainer', '10', '--json')).toEqual([
    '0',
    JSON.stringify({ log: 'trainer-10', text: line(1, 'trainer 10', 'warn ').trimEnd() }),
  ]);
  expect(await logs('-n', '1', '--log-level', 'warn', '-f')).toEqual(['0', expect.stringContaining('trainer 10')]);
  expect(await logs('master', '--log-level', 'error')).toEqual(['0', '']);
  expect(await logs('trainer', '2')).toEqual([
    ...['2', expect.stringContaining('no log of trainer 2')],
    'hint: there are logs of master, trainer 0, trainer 1, trainer 10',
  ]);
  expect((await logs('-n', 'few'))[1]).toContain('--lines few: expected a number, or all');
  const home = join(folder, '.paddlet', 'far', 'logs');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'run.log'), line(1, 'its store is elsewhere'));
  const found = await runCommand(['logs'], { cwd: folder });
  expect([found.code, found.out]).toEqual([0, line(1, 'its store is elsewhere')]);
  rmSync(join(folder, 'logs'), { recursive: true });
  expect((await logs())[1]).toMatch(/^error JobUnknown: no logs in /);
});
