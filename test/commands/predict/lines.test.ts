/** Predictions as text that other programs read. */
import { expect, test } from 'vitest';
import { lineWriter } from '../../../src/commands/predict/lines.ts';
import type { OutputNames } from '../../../src/commands/predict/output.ts';
import type { ScoredGroup } from '../../../src/roles/evaluator/score-groups.ts';

function written(format: 'csv' | 'jsonl', names: OutputNames, group: Partial<ScoredGroup>): Buffer {
  const { head, lines } = lineWriter(format, names);
  const outputs = names.scores.length;
  const rest = { records: 0, scores: new Float32Array(0), errors: new Map<number, string>(), kept: undefined };
  return Buffer.concat([head, lines({ ...rest, outputs, ...group })]);
}

const ONE = { kept: [], scores: ['score'], hasErrors: true };
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

test('scores have as many digits as say which f32 they are', () => {
  const scores = Float32Array.of(0.1, 1, 0, 1e-30, 1 / 3, -16777216);
  const lines = String(written('csv', ONE, { records: 6, scores })).split('\n');
  expect(lines).toEqual(['score,error', '0.1,', '1,', '0,', '1e-30,', '0.33333334,', '-16777216,', '']);
  expect(lines.slice(1, 7).map((line) => Math.fround(Number.parseFloat(line)))).toEqual([...scores]);
});

test('a record without a score has an error', () => {
  const group = { records: 2, scores: Float32Array.of(7, 0.5), errors: new Map([[0, 'value "x", bad']]) };
  expect(String(written('csv', ONE, group))).toBe('score,error\n,"value ""x"", bad"\n0.5,\n');
  expect(String(written('jsonl', ONE, group))).toBe('{"score":null,"error":"value \\"x\\", bad"}\n{"score":0.5}\n');
});

test('without errors, a record without a score has an empty one, and no line is empty', () => {
  const group = { records: 2, scores: Float32Array.of(7, 0.5), errors: new Map([[0, 'bad']]) };
  const names = { ...ONE, hasErrors: false };
  expect(String(written('csv', names, group))).toBe('score\n""\n0.5\n');
  expect(String(written('csv', { ...names, kept: ['x'] }, { ...group, kept: [[''], ['y']] }))).toBe(
    'x,score\n,\ny,0.5\n',
  );
  expect(String(written('jsonl', names, group))).toBe('{"score":null}\n{"score":0.5}\n');
  const classes = { kept: ['error'], scores: ['a', 'b'], hasErrors: false };
  const pairs = { ...group, scores: Float32Array.of(0, 0, 0.25, 0.75), kept: [['k'], ['l']] };
  expect(String(written('csv', classes, pairs))).toBe('error,a,b\nk,,\nl,0.25,0.75\n');
});

test('a column a class', () => {
  const names = { kept: [], scores: ['rød', 'b,c'], hasErrors: true };
  const group = { records: 2, scores: Float32Array.of(0.25, 0.75, 9, 9), errors: new Map([[1, 'no']]) };
  expect(String(written('csv', names, group))).toBe('rød,"b,c",error\n0.25,0.75,\n,,no\n');
  const lines = String(written('jsonl', names, group))
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { scores: { rød: 0.25, 'b,c': 0.75 } },
    { scores: null, error: 'no' },
  ]);
});

test('texts that are carried over are quoted where a reader would take them for something else', () => {
  const texts = ['plain', 'a,b', 'say "no"', 'two\nlines', ' blank', 'tab\t', '', 'ø'];
  const names = { kept: ['na,me'], scores: ['score'], hasErrors: true };
  const group = { records: 8, scores: new Float32Array(8), kept: texts.map((text) => [latin1(text)]) };
  expect(String(written('csv', names, group))).toBe(
    '"na,me",score,error\nplain,0,\n"a,b",0,\n"say ""no""",0,\n"two\nlines",0,\n" blank",0,\n"tab\t",0,\n,0,\nø,0,\n',
  );
  const lines = String(written('jsonl', names, group))
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line)['na,me'])).toEqual(texts);
});

test('bytes of another encoding stay as they are in CSV', () => {
  const group = { records: 1, scores: Float32Array.of(1), kept: [['\xe9']] };
  const names = { kept: ['x'], scores: ['s'], hasErrors: false };
  expect(written('csv', names, group)).toEqual(Buffer.from('x,s\n\xe9,1\n', 'latin1'));
  expect(String(written('jsonl', names, group))).toBe('{"x":"\ufffd","score":1}\n');
});

test('classes may be called as other columns are, where these can be told apart', () => {
  const head = (kept: string[], scores: string[]): string =>
    String(lineWriter('csv', { kept, scores, hasErrors: true }).head);
  expect(head(['x'], ['error', 'info'])).toBe('x,error,info,error_\n');
  expect(() => head(['info'], ['error', 'info'])).toThrow('would be called info');
  const group = { records: 1, scores: Float32Array.of(0.5, 0.25), kept: [['k']] };
  const names = { kept: ['info'], scores: ['error', 'info'], hasErrors: true };
  expect(String(written('jsonl', names, group))).toBe('{"info":"k","scores":{"error":0.5,"info":0.25}}\n');
  expect(() => lineWriter('jsonl', { ...names, kept: ['scores'] })).toThrow('would be called scores');
});

test.each([['score'], ['error'], ['a', 'a']])('two columns of one name are refused (%s)', (...kept) => {
  expect(() => lineWriter('csv', { ...ONE, kept })).toThrow(`would be called ${kept.at(-1)}`);
});
