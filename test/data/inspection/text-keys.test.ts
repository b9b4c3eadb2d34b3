import { expect, test } from 'vitest';
import { hashOfText } from '../../../src/data/inspection/distinct.ts';
import { TextKeys } from '../../../src/data/inspection/text-keys.ts';

test('a long text of a dictionary is hashed once, however many records have it', () => {
  let hashed = 0;
  const keys = new TextKeys((text) => {
    hashed += 1;
    return hashOfText(text);
  });
  const [one, other] = ['a'.repeat(10_000), `${'a'.repeat(9_999)}b`];
  for (let record = 0; record < 1_000; record++) keys.keyOf(record % 2 === 0 ? one : other);
  expect(hashed).toBe(2);
  expect(keys.keyOf(one)).not.toBe(keys.keyOf(other));
  expect(keys.keyOf(one).length).toBeLessThan(300);
  expect(keys.keyOf('short')).toBe('short');
});

test('it forgets texts that are too many to remember', () => {
  const keys = new TextKeys(() => 0);
  for (let at = 0; at < 40; at++) keys.keyOf(`${at}${'x'.repeat(2 ** 20)}`);
  expect(keys.characters).toBeLessThanOrEqual(2 ** 24);
});
