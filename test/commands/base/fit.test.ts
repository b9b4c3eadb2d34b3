import stringWidth from 'string-width';
import { describe, expect, it, test } from 'vitest';
import { cut, durationText, fitNotes, wrapped } from '../../../src/commands/base/fit.ts';
import { progressLine } from '../../../src/commands/base/waiting.ts';
import { asShort } from '../../../src/host/log.ts';

describe('a line', () => {
  it('is cut where there is no room for it', () => {
    expect(cut('pserver 0', 9)).toBe('pserver 0');
    expect(cut('pserver 10', 9)).toBe('pserver …');
    expect(cut('日本語の列', 7)).toBe('日本語…');
    expect(stringWidth(cut('\u001b[1m role pserver 10\u001b[22m', 6))).toBe(6);
  });

  it('goes on in the next, indented', () => {
    expect(wrapped('short\n  time: pull 72 %, compute 4 %, push 3 %', 24)).toBe(
      'short\n  time: pull 72 %,\n    compute 4 %, push 3\n    %',
    );
    expect(wrapped('a'.repeat(12), 5)).toBe('aaaaa\n  aaa\n  aaa\n  a');
  });
});

test.each([
  [0.2, '1 s'],
  [99, '99 s'],
  [100, '2 min'],
  [5_999, '1 h 40 min'],
  [7_200, '2 h 0 min'],
  [200_000, '2 d 7 h'],
])('%d s is %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

const NOTES = [
  { text: 'pass 2/4', rank: 3 },
  { text: 'task 3/10', rank: 1 },
  { text: '12 s left', rank: 2 },
];

it('leaves out what is worth least, and cuts what is left', () => {
  expect(fitNotes(NOTES, 30)).toBe('pass 2/4  task 3/10  12 s left');
  expect(fitNotes(NOTES, 29)).toBe('pass 2/4  12 s left');
  expect(fitNotes(NOTES, 18)).toBe('pass 2/4');
  expect(fitNotes(NOTES, 5)).toBe('pass…');
});

test.each([200, 80, 50, 30, 12, 5])('progress has one line of %d columns', (columns) => {
  const line = progressLine({ title: 'training', done: 1, total: 2, notes: NOTES }, columns);
  expect(stringWidth(line)).toBeLessThanOrEqual(columns);
  expect(line).not.toContain('\n');
  if (columns >= 50) expect(line).toMatch(/^training ━+─+ {2}50% {2}pass 2\/4 {2}.*12 s left$/);
});

it('the log of a run, on a terminal, has the time of day and what is worth a word', () => {
  const at = (text: string): string => asShort(`2026-11-27T18:01:50.851Z ${text}\n    at x\n`, 'run');
  expect(at('info  run pass 1 is over')).toMatch(/^\d\d:01:50 pass 1 is over\n {4}at x\n$/);
  expect(at('warn  run pserver 0 ended')).toMatch(/^\d\d:01:50 warn {2}pserver 0 ended\n/);
});
