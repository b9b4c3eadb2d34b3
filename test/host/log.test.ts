import { expect, test } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { asShort, createLog, type LogOptions } from '../../src/host/log.ts';

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

const at = { host: 'box', pid: 123 };

test('a line has time, level, name, message and facts, and what is the same in most lines last', () => {
  const { log, lines } = logging({ identity: { role: 'pserver', index: 0, job: 'a9a-lr', ...at } });
  log.warn('task failed', {
    task: 7,
    file: 'a b.gz',
    error: new PaddletError('DataInvalid', 'line 3: no label'),
    left: undefined,
    token: 12n,
  });
  expect(lines).toEqual([
    '2023-11-14T22:13:20.500Z warn  pserver 0 task failed task=7 file="a b.gz" error="line 3: no label" token="12" job=a9a-lr host=box pid=123',
  ]);
});

test('what becomes known of who logs is in all lines from then on', () => {
  const text = { role: 'pserver', ...at };
  const { log, lines } = logging({ identity: text });
  log.info('up');
  Object.assign(text, { index: 2, job: 'small' });
  log.info('has an index');
  const trainer = { role: 'trainer', ...at };
  const json = logging({ identity: trainer, format: 'json' });
  json.log.info('up');
  Object.assign(trainer, { id: '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10', job: 'small' });
  json.log.info('known', { pid: 1 });
  expect(lines.map((line) => line.slice('2023-11-14T22:13:20.500Z '.length))).toEqual([
    'info  pserver up host=box pid=123',
    'info  pserver 2 has an index job=small host=box pid=123',
  ]);
  expect(json.lines.map((line) => JSON.parse(line))).toEqual([
    { time: '2023-11-14T22:13:20.500Z', level: 'info', role: 'trainer', ...at, message: 'up' },
    expect.objectContaining({ ...trainer, message: 'known' }),
  ]);
  const named = logging({ identity: trainer });
  named.log.info('trains');
  expect(named.lines[0]).toContain('info  trainer 5a8f6e0e trains job=small');
});

test('the message is seen at 120 columns', () => {
  const message = 'waiting for pservers to take 12 of 256 units of shards';
  const id = '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';
  const { log, lines } = logging({ identity: { role: 'trainer', id, job: 'criteo-shaped-deepfm', ...at } });
  log.info(message, { seconds: 10 });
  expect(lines[0]!.slice(0, 120)).toContain(`${message} seconds=10`);
});

test('on a terminal the log of a file has neither who logs nor what is the same in all lines', () => {
  const identity = { role: 'run', job: 'small', ...at };
  const file = logging({ identity });
  const terminal = logging({ identity, isShort: true });
  for (const { log } of [file, terminal]) {
    log.info('pass 1 is over', { records: 12 });
    log.warn('pserver 0 ended: job=x host=y pid=none');
  }
  expect(asShort(file.lines.join('\n'), 'run').split('\n')).toEqual(terminal.lines);
  expect(terminal.lines[0]).toMatch(/^\d\d:13:20 pass 1 is over records=12$/);
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

test('JSON: one object a line, of which no fact can replace what every line has', () => {
  const { log, lines } = logging({ format: 'json', identity: { role: 'master', ...at } });
  log.error('lost', {
    message: 'forged',
    level: 'info',
    role: 'forged',
    revision: 5n,
    error: new PaddletError('DataMissing', 'no file'),
  });
  expect(JSON.parse(lines[0] as string)).toEqual({
    time: '2023-11-14T22:13:20.500Z',
    level: 'error',
    role: 'master',
    ...at,
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
