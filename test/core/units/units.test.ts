import { expect, it } from 'vitest';
import { defaultUnits, shardsOfUnit, shardsOfUnits, sizeOfUnit, unitOf } from '../../../src/core/units/units.ts';
import * as fc from '../../properties.ts';

it('are 64, or four for each pserver that there may be, and at most one a shard', () => {
  expect(defaultUnits(512, 2)).toBe(64);
  expect(defaultUnits(512, 40)).toBe(160);
  expect(defaultUnits(10, 2)).toBe(10);
  expect(defaultUnits(100, 40)).toBe(100);
});

it('have each shard once', () => {
  const shapes = fc
    .integer({ min: 1, max: 300 })
    .chain((shards) => fc.record({ shards: fc.constant(shards), units: fc.integer({ min: 1, max: shards }) }));
  fc.assert(
    fc.property(shapes, (job) => {
      const all = Array.from({ length: job.units }, (_, unit) => unit);
      expect(shardsOfUnits(all, job)).toEqual(Array.from({ length: job.shards }, (_, shard) => shard));
      for (const unit of all) {
        const shards = shardsOfUnit(unit, job);
        expect(shards.length).toBe(sizeOfUnit(unit, job));
        expect(shards.length).toBeGreaterThan(0);
        expect(shards.every((shard) => unitOf(shard, job.units) === unit)).toBe(true);
      }
    }),
  );
});
