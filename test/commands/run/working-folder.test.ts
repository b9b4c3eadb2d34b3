/** The folder that a run works in: what its own log has. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { EXIT, PaddletError } from '../../../src/base/errors.ts';
import type { Host } from '../../../src/base/seams.ts';
import { logOf } from '../../../src/commands/run/attach.ts';
import { WorkingFolder } from '../../../src/commands/run/working-folder.ts';
import { createHost } from '../../../src/host/host.ts';
import { createLog } from '../../../src/host/log.ts';

const logBytes = 1_000_000;
const identity = { role: 'run', job: 'small', host: 'box', pid: 123 };

let folder: string;
/** Of the terminal. */
let shown: string[];
let host: Host;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-working-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  shown = [];
  const write = (line: string): void => void shown.push(line);
  const log = createLog({ level: 'info', format: 'text', color: false, isShort: true, wallSeconds: () => 1, write });
  host = { ...createHost({ logLevel: 'info', logFormat: 'text' }), log };
});

/** Without the times. */
const logged = (): string[] =>
  readFileSync(join(folder, 'logs/run.log'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.slice('2026-11-27T20:00:00.000Z '.length));

const LAST = 'job=small host=box pid=123';

it('the log has what the terminal is told, with who logs, and how the run ended', async () => {
  const working = await WorkingFolder.open(host, folder, 'small');
  const { log } = await working.startLog(host, { level: 'info', identity, logBytes });
  log.debug('below its level');
  log.info('pass 1 is over', { records: 7 });
  const full = new PaddletError('SystemRefused', 'the disk is full', { hint: 'free space' });
  working.ended(EXIT.machine, full);
  working.close();
  expect(logged()).toEqual([
    `info  run pass 1 is over records=7 ${LAST}`,
    `error run ended with exit code ${EXIT.machine}: SystemRefused: the disk is full hint="free space" ${LAST}`,
  ]);
  expect(shown.map((line) => line.replace(/^\S+ /, ''))).toEqual(['pass 1 is over records=7']);
});

it('a run that ended well, or was stopped, says so', async () => {
  for (const [exit, error] of [
    [EXIT.done, undefined],
    [EXIT.interrupted, new PaddletError('Interrupted', 'stopped')],
    [EXIT.bug, new TypeError('broken')],
  ] as const) {
    const working = await WorkingFolder.open(host, folder, 'small');
    await working.startLog(host, { level: 'info', identity, logBytes });
    working.ended(exit, error);
    working.close();
  }
  expect(logged()).toEqual([
    `info  run ended with exit code ${EXIT.done} ${LAST}`,
    `info  run ended with exit code ${EXIT.interrupted} ${LAST}`,
    expect.stringMatching(/^error run ended with exit code \d+ error="TypeError: broken\\n/),
  ]);
});

it('a run that was refused before it started anything leaves no log', async () => {
  const working = await WorkingFolder.open(host, folder, 'small');
  working.ended(EXIT.usage, new PaddletError('Usage', 'refused'));
  working.close();
  expect(existsSync(join(folder, 'logs'))).toBe(false);
});

it('what is attached has all that this run logged, through files that are renamed, and nothing of the run before', async () => {
  const before = await WorkingFolder.open(host, folder, 'small');
  await before.startLog(host, { level: 'info', identity, logBytes: 400 });
  before.ended(EXIT.interrupted);
  before.close();

  const working = await WorkingFolder.open(host, folder, 'small');
  expect(logOf(host.disk, folder)).toBeUndefined();
  const { log } = await working.startLog(host, { level: 'info', identity, logBytes: 400 });
  // Of some 70 bytes each: a file is full after six of them.
  for (let at = 0; at < 12; at++) log.info(`entry ${at}`);
  const attached = logOf(host.disk, folder)!;
  const texts: string[] = [];
  const show = (isOver = false): Promise<void> => attached.show((text) => void texts.push(text), isOver);
  await show();
  for (let at = 12; at < 20; at++) {
    log.info(`entry ${at}`);
    await show();
  }
  working.ended(EXIT.done);
  working.close();
  appendFileSync(join(folder, 'logs/run.log'), 'cut');
  await show();
  expect(texts.at(-1)).toContain('ended with');
  await show(true);
  expect(texts.at(-1)).toBe('cut\n');
  const said = texts
    .join('')
    .split('\n')
    .map((line) => line.slice(25).replace(` ${LAST}`, ''));
  const entries = Array.from({ length: 20 }, (_, at) => `info  run entry ${at}`);
  expect(said).toEqual([...entries, `info  run ended with exit code ${EXIT.done}`, '', '']);
  expect(existsSync(join(folder, 'logs/run.log.3'))).toBe(true);
});
