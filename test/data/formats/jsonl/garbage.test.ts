/** Bytes of any kind: they are read as JSON lines, or refused with an error of paddlet, whatever they are. */
import { expect, test } from 'vitest';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import { CSV, category, LABEL, list, number } from '../../columns/samples.ts';
import { dice, randomBytes, readInAllWays } from '../garbage.ts';

const BYTES = 150_000;
const SPEC: ColumnSpec = {
  columns: [
    LABEL,
    number('x'),
    category('c', { path: 'o.c' }),
    list('l', { maxLength: 5 }),
    category('i', { ids: 'integer' }),
  ],
  dialect: CSV,
};
const LINE = '{"label":1,"x":0.25,"o":{"c":"São","d":[1,{"e":null}]},"l":["a","b"],"i":123456789012345678}\n';

test('random bytes', async () => {
  expect(await readInAllWays(randomBytes(1, BYTES), SPEC, 'jsonl')).toBe(0);
});

test('lines in which bytes were changed', async () => {
  const next = dice(2);
  const bytes = Buffer.from(LINE.repeat(Math.ceil(BYTES / LINE.length)));
  for (let change = 0; change < bytes.length / 300; change++) bytes[next(bytes.length)] = next(256);
  // A good line first: what begins otherwise is refused as a whole.
  expect(await readInAllWays(Buffer.concat([Buffer.from(LINE), bytes]), SPEC, 'jsonl')).toBeGreaterThan(500);
});

test('lines in which pieces were left out, repeated and moved', async () => {
  const next = dice(3);
  const text = LINE.repeat(Math.ceil(BYTES / LINE.length));
  let made = LINE;
  for (let at = 0; at < text.length; at += 1 + next(400)) made += text.slice(at, at + next(400));
  expect(await readInAllWays(Buffer.from(made), SPEC, 'jsonl')).toBeGreaterThan(500);
});
