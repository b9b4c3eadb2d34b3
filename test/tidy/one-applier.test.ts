/**
 * An update of a unit is applied in one place, and its size is computed in one place. Admission, eviction and deltas
 * belong there; a second place would miss them.
 */
import { expect, expectTypeOf, test } from 'vitest';
import type { Held } from '../../src/roles/pserver/held/held.ts';
import type { OwnedShards } from '../../src/roles/pserver/held/owned-shards.ts';
import { sourceFiles } from '../source-files.ts';

const PSERVER = sourceFiles('src/roles/pserver');

const filesWith = (pattern: RegExp): string[] =>
  PSERVER.filter(({ code }) => pattern.test(code)).map(({ path }) => path.replace('src/roles/pserver/', ''));

test('only Held applies updates to parameters, and records them in ledgers', () => {
  expect(filesWith(/parameters\.push\(|\.pushKeeping\(/)).toEqual(['held/held.ts']);
  expect(filesWith(/edgers\.(advance|close|add|remove)\(/)).toEqual(['held/held.ts']);
});

test('what others get of held shards cannot apply an update', () => {
  expectTypeOf<Held['parameters']>().not.toHaveProperty('push');
  expectTypeOf<OwnedShards['parameters']>().not.toHaveProperty('pushKeeping');
  expectTypeOf<Held['ledgers']>().not.toHaveProperty('advance');
  expectTypeOf<OwnedShards['ledgers']>().not.toHaveProperty('close');
});

test('only the sizes of update/size.ts say how large an update is', () => {
  expect(filesWith(/\.tally\(|LISTED_BYTES =|OVERHEAD_BYTES/)).toEqual(['update/size.ts']);
  // Lanes are no updates yet: their memory is found for all gradients at once.
  expect(filesWith(/\bgradients\.(byteLength|length)\b/)).toEqual(['modes/rounds/lane-memory.ts']);
  expect(filesWith(/bytesByUnit: new|\bbytesByUnit = new/)).toEqual(['update/size.ts']);
});
