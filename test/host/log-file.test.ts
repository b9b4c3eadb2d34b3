/** Log files of bounded size: no line is lost or repeated, even when several write. */
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import {
  logFile,
  numberedLog,
  numbersIn,
  OWN_LOG,
  outputBeside,
  ownLogFile,
  ownLogText,
  takeOutput,
} from '../../src/host/log-file.ts';
import { spawnSelf } from '../../src/host/processes.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-log-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  path = join(folder, 'master.log');
});

/** Of all files, the oldest first. */
function lines(of = path): string[] {
  const old = numbersIn(of, readdirSync(folder)).map((number) => numberedLog(of, number));
  const text = [...old, of].map((one) => (existsSync(one) ? readFileSync(one, 'utf8') : '')).join('');
  return text.split('\n').slice(0, -1);
}

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `line ${String(from + at).padStart(4, '0')}`);
const LINE_BYTES = 10;

it('begins another file when one is full, and keeps the last ones', () => {
  const { write, close } = logFile(path, 5 * LINE_BYTES);
  for (const line of numbers(0, 17)) write(line);
  expect(lines()).toEqual(numbers(0, 17));
  for (const line of numbers(17, 100)) write(line);
  // Four files of five lines, of which the last is the only one that may have less.
  expect(lines()).toEqual(numbers(80, 100));
  expect(readdirSync(folder)).toHaveLength(1 + LIMITS.oldLogFiles);
  close();
  write('after the end');
  expect(lines()).toEqual(numbers(80, 100));
});

it('goes on with what there is, also with a file that is full', () => {
  writeFileSync(path, `${numbers(0, 5).join('\n')}\n`);
  const { write, open } = logFile(path, 5 * LINE_BYTES);
  expect(open()).toEqual({ number: 1, bytes: 5 * LINE_BYTES });
  write(numbers(5, 6)[0]!);
  expect(readFileSync(path, 'utf8')).toBe('line 0005\n');
  expect(lines()).toEqual(numbers(0, 6));
});

it('several that write to one log make room once each time', () => {
  const writers = [1, 2, 3].map(() => logFile(path, 6 * LINE_BYTES));
  numbers(0, 22).forEach((line, at) => {
    writers[at % 3]!.write(line);
  });
  expect(lines()).toEqual(numbers(0, 22));
});

it('grows when there can be no other file, and says how many lines were lost while there was none', () => {
  // A name that has no room for a number.
  const longest = join(folder, 'x'.repeat(255));
  const { write } = logFile(longest, 2 * LINE_BYTES);
  for (const line of numbers(0, 6)) write(line);
  expect(readFileSync(longest, 'utf8')).toBe(`${numbers(0, 6).join('\n')}\n`);

  const away = join(folder, 'away');
  const other = logFile(join(away, 'x.log'), 100);
  expect(() => other.open()).toThrow('ENOENT');
  other.write('a');
  other.write('b');
  mkdirSync(away);
  other.write('c');
  expect(readFileSync(join(away, 'x.log'), 'utf8')).toBe('(2 lines were lost, because they could not be written)\nc\n');
});

it('a file that has its number already loses its name: a process was killed in between', () => {
  writeFileSync(path, `${numbers(0, 5).join('\n')}\n`);
  linkSync(path, numberedLog(path, 1));
  const { write } = logFile(path, 5 * LINE_BYTES);
  for (const line of numbers(5, 7)) write(line);
  expect(lines()).toEqual(numbers(0, 7));
});

it('goes on with the file that another process has made', () => {
  // For the first writer the old file has room.
  const [one, other] = [logFile(path, 9 * LINE_BYTES), logFile(path, 2 * LINE_BYTES)];
  one.write('line 0000');
  other.write('line 0001');
  other.write('line 0002');
  one.write('line 0003');
  expect(readFileSync(path, 'utf8')).toBe('line 0002\nline 0003\n');
});

it('the log that the parent chose is told once', () => {
  onTestFinished(() => void delete process.env[OWN_LOG]);
  process.env[OWN_LOG] = ownLogText(join(folder, 'a:b.log'), 123);
  ownLogFile()!.write('x');
  expect(readFileSync(join(folder, 'a:b.log'), 'utf8')).toBe('x\n');
  expect([process.env[OWN_LOG], ownLogFile()]).toEqual([undefined, undefined]);
});

it('takes output that is beside the log, and keeps it when the log cannot be written', () => {
  appendFileSync(outputBeside(path), 'a crash\n    at here');
  writeFileSync(path, 'full\n');
  takeOutput(path, 5);
  expect(lines()).toEqual(['full', 'a crash', '    at here']);
  expect(readFileSync(path, 'utf8')).toBe('a crash\n    at here\n');
  takeOutput(path, 500);
  expect(lines()).toHaveLength(3);
  // A line that a full disk has cut is ended first; of much only the end is taken.
  appendFileSync(path, 'cut');
  appendFileSync(outputBeside(path), `begin${'x'.repeat(LIMITS.childOutputBytes)}\nend\n`);
  takeOutput(path, 5_000_000);
  const text = readFileSync(path, 'utf8');
  expect(text).toMatch(/\ncut\nx+\nend\n$/);
  expect(text).not.toContain('begin');
  const away = join(folder, 'x.log');
  mkdirSync(away);
  appendFileSync(outputBeside(away), 'kept');
  expect(() => takeOutput(away, 5_000_000)).toThrow('EISDIR');
  expect(readFileSync(outputBeside(away), 'utf8')).toBe('kept');
});

/** Logs as a role does, through all renames, and dies of an error that nothing awaits. */
const CHILD = `
import { createHost } from ${JSON.stringify(resolve(import.meta.dirname, '../../src/host/host.ts'))};
import { logWarnings } from ${JSON.stringify(resolve(import.meta.dirname, '../../src/host/outputs.ts'))};
const { log } = createHost({ logLevel: 'info', logFormat: 'text' });
console.log('said beside the log', process.env.${OWN_LOG});
logWarnings(log);
process.emitWarning('odd');
await new Promise(setImmediate);
for (let at = 0; at < 40; at++) log.info('entry ' + at);
throw new TypeError('broken');
`;

it('a child has its last words at the end of its log, after any number of renames', async () => {
  const self = { command: process.execPath, args: ['--input-type=module', '-e', CHILD] };
  // Left by a launcher that was killed.
  writeFileSync(outputBeside(path), 'of the one before\n');
  const child = await spawnSelf([], { self, logFile: path, logBytes: 600 });
  expect(await child.ended).toEqual({ code: 1, signal: null });
  expect(existsSync(outputBeside(path))).toBe(false);
  const all = lines();
  const last = all.findLastIndex((line) => line.includes(' info '));
  expect(all[last]).toMatch(/^\d{4}-.*Z info {2}entry 39$/);
  expect(all[last + 1]).toBe('said beside the log undefined');
  expect(all.slice(last).join('\n')).toContain('TypeError: broken\n    at ');
  const entries = all.flatMap((line) => / entry (\d+)$/.exec(line)?.[1] ?? []).map(Number);
  expect(entries).toEqual(Array.from({ length: 40 }, (_, at) => at));
  expect(all[0]).toBe('of the one before');
  expect(all[1]).toMatch(/Z warn {2}Warning: odd$/);
  expect(statSync(numberedLog(path, numbersIn(path, readdirSync(folder)).at(-1)!)).size).toBeGreaterThanOrEqual(600);
});
