/** The last log lines of a job, for its page. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LogTail } from '../../../src/commands/page/log-tail.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createLog } from '../../../src/host/log.ts';

/** Logs as a role does, one second a line. */
function scene() {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-tail-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'logs'));
  let seconds = 1_000;
  const log = (name: string, role: string, index?: number, format: 'text' | 'json' = 'text') =>
    createLog({
      ...{ level: 'debug', format, color: false, wallSeconds: () => seconds++ },
      identity: { role, ...(index === undefined ? {} : { index }), job: 'small', host: 'box', pid: 7 },
      write: (line) => appendFileSync(join(folder, 'logs', `${name}.log`), `${line}\n`),
    });
  const print = (name: string, text: string): void => appendFileSync(join(folder, 'logs', `${name}.log`), `${text}\n`);
  return { log, print, tail: new LogTail(createDisk(), folder) };
}

it('has the lines of all processes in the order of time, without what has a column of its own', async () => {
  const { log, tail } = scene();
  expect(await tail.lines()).toEqual([]);
  const [master, pserver] = [log('master', 'master'), log('pserver-0', 'pserver', 0)];
  master.info('master at 127.0.0.1:9');
  pserver.warn('the disk is slow', { tookMs: 9 });
  log('trainer-1', 'trainer', undefined, 'json').error('no data', { path: 'a' });
  expect(await tail.lines()).toEqual([
    { log: 'master', time: 1_000, level: 'info', text: 'master at 127.0.0.1:9' },
    { log: 'pserver-0', time: 1_001, level: 'warn', text: 'the disk is slow tookMs=9' },
    { log: 'trainer-1', time: 1_002, level: 'error', text: 'no data' },
  ]);
  pserver.info('again');
  expect((await tail.lines()).map(({ text }) => text)).toEqual([
    ...['master at 127.0.0.1:9', 'the disk is slow tookMs=9', 'no data', 'again'],
  ]);
});

it('leaves text as it is that a process printed beside its log', async () => {
  const { log, tail, print } = scene();
  log('master', 'master').info('the end');
  print('master', 'job small (async) is done: 6 passes');
  const lines = await tail.lines();
  expect(lines.map(({ text }) => text)).toEqual(['the end\njob small (async) is done: 6 passes']);
});

it('keeps so many lines, and so much of each', async () => {
  const { log, tail } = scene();
  const master = log('master', 'master');
  for (let at = 0; at < 500; at++) master.info(`line ${at}`);
  master.info('x'.repeat(10_000));
  const lines = await tail.lines();
  expect(lines).toHaveLength(60);
  expect(lines[0]!.text).toBe('line 441');
  expect(lines.at(-1)!.text).toHaveLength(500);
});
