import { describe, expect, test } from 'vitest';
import {
  agoText,
  bytesText,
  compactText,
  counted,
  durationText,
  listText,
  metricText,
  percentText,
  rateText,
} from '../../../src/page/browser/format.ts';

test.each([
  [0, '0 s'],
  [59.4, '59 s'],
  [59.6, '1 min'],
  [185, '3 min 5 s'],
  [3600, '1 h'],
  [3629, '1 h'],
  [7440, '2 h 4 min'],
  [86_399, '1 d'],
  [97_200, '1 d 3 h'],
  [-3, '0 s'],
])('%s seconds are %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test('what was just now, and what was before', () => {
  expect([-1, 0.4, 42].map(agoText)).toEqual(['just now', 'just now', '42 s ago']);
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [999_949, '999.9 kB'],
  [999_951, '1.0 MB'],
  [48_211_456, '48.2 MB'],
  [3e15, '3.0 PB'],
  [3e18, '3000.0 PB'],
])('%s bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test('only what is whole is 100 %', () => {
  expect([0, 0.3714, 0.999_99, 1, 1.2].map(percentText)).toEqual(['0 %', '37.1 %', '99.9 %', '100 %', '100 %']);
});

test('rates and counts', () => {
  expect([rateText(48_213), rateText(0.25, 'rounds'), rateText(4, 'rounds')]).toEqual([
    '48,213 records/s',
    '0.3 rounds/s',
    '4 rounds/s',
  ]);
  expect([counted(1, 'unit'), counted(1200, 'unit'), compactText(12_053)]).toEqual(['1 unit', '1,200 units', '12K']);
});

test('metrics have the digits that tell two models apart', () => {
  const texts = [0, 0.44213, 12.345, 1234.56, 0.000_012, 2e6, Number.NaN].map(metricText);
  expect(texts).toEqual(['0.0000', '0.4421', '12.35', '1234.6', '1.20e-5', '2.00e+6', 'NaN']);
});

describe('lists of names', () => {
  test.each([
    [[], ''],
    [['a'], 'a'],
    [['a', 'b'], 'a and b'],
    [['a', 'b', 'c', 'd'], 'a, b, c and d'],
    [['a', 'b', 'c', 'd', 'e'], 'a, b, c and 2 more'],
  ])('%j', (names, text) => {
    expect(listText(names)).toBe(text);
  });
});
