import { describe, expect, test, vi } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { errorJson, errorText, exitCodeOf } from '../../../src/commands/base/errors.ts';
import { abortOnSignals, roleSignals, type SignalSource } from '../../../src/commands/base/interruption.ts';
import { checkedLabel } from '../../../src/commands/base/label-flag.ts';
import { renderTable } from '../../../src/commands/base/table.ts';
import { bar } from '../../../src/commands/base/waiting.ts';
import { nearest } from '../../../src/job/complaints.ts';

describe('interruption', () => {
  function source() {
    const handlers = new Map<string, () => void>();
    const exit = vi.fn();
    const signals = { on: (name: string, run: () => void) => handlers.set(name, run), exit } as unknown as SignalSource;
    return { signal: abortOnSignals(signals), send: (name: string) => handlers.get(name)?.(), exit };
  }

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('%s aborts with an error that names it', (name) => {
    const { signal, send, exit } = source();
    expect(signal.aborted).toBe(false);
    send(name);
    expect(signal.reason).toMatchObject({ code: 'Interrupted', message: `stopped by ${name}`, exitCode: 130 });
    expect(exit).not.toHaveBeenCalled();
  });

  test('the second one ends the process at once', () => {
    const { send, exit } = source();
    send('SIGINT');
    send('SIGTERM');
    expect(exit).toHaveBeenCalledWith(130);
  });
});

describe('signals to a role', () => {
  /** What has happened after these signals. */
  function after(...names: readonly string[]) {
    const handlers = new Map<string, () => void>();
    const exit = vi.fn();
    const source = { on: (name: string, run: () => void) => handlers.set(name, run), exit } as unknown as SignalSource;
    const { stop, jobStop } = roleSignals(source);
    for (const name of names) handlers.get(name)?.();
    return { stop: stop.aborted, jobStop: jobStop.aborted, exits: exit.mock.calls.length };
  }

  test.each([
    [[], { stop: false, jobStop: false, exits: 0 }],
    [['SIGTERM'], { stop: true, jobStop: false, exits: 0 }],
    [['SIGINT'], { stop: true, jobStop: true, exits: 0 }],
    [['SIGHUP'], { stop: true, jobStop: true, exits: 0 }],
    [['SIGTERM', 'SIGINT'], { stop: true, jobStop: true, exits: 0 }],
    [['SIGTERM', 'SIGTERM'], { stop: true, jobStop: false, exits: 1 }],
    [['SIGINT', 'SIGINT'], { stop: true, jobStop: true, exits: 1 }],
    [['SIGINT', 'SIGTERM'], { stop: true, jobStop: true, exits: 1 }],
    [['SIGTERM', 'SIGINT', 'SIGHUP'], { stop: true, jobStop: true, exits: 1 }],
  ])('%j', (names, what) => {
    expect(after(...names)).toEqual(what);
  });
});

describe('labels', () => {
  test.each(['rack2-7', 'eu-west-1a', '7', 'Zürich'])('%s', (text) => {
    expect(checkedLabel(text)).toBe(text);
  });

  test.each(['', 'a b', 'a\n', '\u001b[2J', 'x'.repeat(257)])('%j is none', (text) => {
    expect(() => checkedLabel(text)).toThrow(expect.objectContaining({ code: 'Usage' }));
  });
});

describe('errors', () => {
  test('an expected one: code, message, hint, its own exit code', () => {
    const error = new PaddletError('DataMissing', 'no such data file: x', {
      hint: 'look in y',
      details: { path: 'x' },
    });
    expect(errorText(error, false)).toBe('error DataMissing: no such data file: x\nhint: look in y');
    expect(errorJson(error)).toEqual({
      error: {
        code: 'DataMissing',
        message: 'no such data file: x',
        hint: 'look in y',
        exit: 3,
        details: { path: 'x' },
      },
    });
  });

  test('what comes from outside moves no cursor, and JSON has it as it is', () => {
    const text = 'trainer \u001b[2J said\nline 2: \u009b1m\r';
    const error = new PaddletError('DataMissing', text, { hint: '\u0007' });
    const shown = 'trainer \\u001b[2J said\nline 2: \\u009b1m\\u000d';
    expect(errorText(error, false)).toBe(`error DataMissing: ${shown}\nhint: \\u0007`);
    expect(errorJson(error).error).toMatchObject({ message: text, hint: '\u0007' });
  });

  test('a bug: its stack, exit code 1', () => {
    const error = new TypeError('x is undefined');
    expect(exitCodeOf(error)).toBe(1);
    expect(errorText(error, false)).toMatch(/^bug: TypeError: x is undefined\n\s+at /);
    expect(errorJson(error)).toEqual({ error: { code: 'Bug', message: 'x is undefined', exit: 1 } });
  });
});

test('a table off a terminal is plain, aligned text', () => {
  const columns = [{ head: 'file' }, { head: 'records', align: 'right' }] as const;
  const stream = { isTTY: false } as NodeJS.WriteStream;
  expect(
    renderTable(
      columns,
      [
        ['a.gz', 5],
        ['long-name.gz', 12_345],
      ],
      stream,
    ),
  ).toBe(['file          records', 'a.gz                5', 'long-name.gz    12345'].join('\n'));
});

test('a cell of a table is one line', () => {
  const stream = { isTTY: false } as NodeJS.WriteStream;
  expect(renderTable([{ head: 'id' }], [['a\nb\u001b]0;title\u0007']], stream)).toBe(
    ['id', 'a\\u000ab\\u001b]0;title\\u0007'].join('\n'),
  );
});

test.each([
  [0, 10, '────────────────────────   0%'],
  [5, 10, '━━━━━━━━━━━━────────────  50%'],
  [10, 10, '━━━━━━━━━━━━━━━━━━━━━━━━ 100%'],
  [99_999, 100_000, '━━━━━━━━━━━━━━━━━━━━━━━─  99%'],
  [3, 0, '────────────────────────   0%'],
  [12, 10, '━━━━━━━━━━━━━━━━━━━━━━━━ 100%'],
])('bar %d of %d', (done, total, text) => {
  expect(bar(done, total, 24)).toBe(text);
});

test.each([
  ['learningRat', 'learningRate'],
  ['LEARNINGRATE', 'learningRate'],
  ['rnu', undefined],
  ['rn', 'run'],
  ['xy', undefined],
  ['completely-different', undefined],
])('the nearest to %s is %s', (word, expected) => {
  expect(nearest(word, ['run', 'learningRate', 'passes'])).toBe(expected);
});
