import { expect, test } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { createLog, type LogOptions } from '../../src/host/log.ts';

function logging(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    format: 'text',
    write: (line) => void lines.push(line),
    wallSeconds: () => 1_700_000_000.5,
    color: false,
    ...options,
  });
  return { log, lines };
}

test('a line has time, level, name, message and facts', () => {
  const { log, lines } = logging({ name: 'pserver 0' });
  log.warn('task failed', {
    task: 7,
    file: 'a b.gz',
    error: new PaddletError('DataInvalid', 'line 3: no label'),
    left: undefined,
    token: 12n,
  });
  expect(lines).toEqual([
    '2023-11-14T22:13:20.500Z warn  pserver 0 task failed task=7 file="a b.gz" error="line 3: no label" token="12"',
  ]);
});

test('below the level nothing is written', () => {
  const { log, lines } = logging({ level: 'warn' });
  log.debug('a');
  log.info('b');
  log.warn('c');
  log.error('d');
  expect(lines.map((line) => line.at(-1))).toEqual(['c', 'd']);
});

test('what comes from outside neither breaks the line nor moves the cursor', () => {
  const { log, lines } = logging();
  log.info('peer said a\nERROR forged\u001b[2J', { name: 'x\ny' });
  expect(lines[0]).toContain('a\\u000aERROR forged\\u001b[2J name="x\\ny"');
  // A terminal may take this one for the start of a sequence too, and JSON has no need to escape it.
  log.info('peer', { name: '\u009b2J' });
  expect(lines[1]).toContain('peer name="\\u009b2J"');
});

test('a bug shows its stack, an expected error only its message', () => {
  const { log, lines } = logging();
  log.error('bug', { error: new TypeError('broken') });
  log.error('expected', { error: new PaddletError('DataMissing', 'no file') });
  expect(lines[0]).toMatch(/TypeError: broken\\n\s+at /);
  expect(lines[1]).toMatch(/error="no file"$/);
});

test('JSON: one object a line, whose time, level and message no fact can replace', () => {
  const { log, lines } = logging({ format: 'json', name: 'master' });
  log.error('lost', {
    message: 'forged',
    level: 'info',
    revision: 5n,
    error: new PaddletError('DataMissing', 'no file'),
  });
  expect(JSON.parse(lines[0] as string)).toEqual({
    time: '2023-11-14T22:13:20.500Z',
    level: 'error',
    name: 'master',
    message: 'lost',
    revision: '5',
    error: { code: 'DataMissing', message: 'no file' },
  });
});

test('colors only where they are wanted', () => {
  const { log, lines } = logging({ color: true });
  log.info('hello');
  expect(lines[0]).toContain('\u001b[');
});
