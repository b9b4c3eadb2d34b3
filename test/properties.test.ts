import { afterEach, expect, test, vi } from 'vitest';
import * as fc from './properties.ts';

afterEach(() => void vi.unstubAllEnvs());

async function load(seed: string, seeds: string, percent = ''): Promise<typeof fc> {
  vi.stubEnv('PADDLET_PROPERTY_SEED', seed);
  vi.stubEnv('PADDLET_PROPERTY_SEEDS', seeds);
  vi.stubEnv('PADDLET_PROPERTY_PERCENT', percent);
  vi.resetModules();
  return await import('./properties.ts');
}

const drawn = (seeds: readonly number[]): number[] =>
  seeds.flatMap((seed) => fc.sample(fc.nat(), { seed, numRuns: 4 }));

test('a property holds under so many seeds from the first one on', async () => {
  const { assert } = await load('7', '3');
  const seen: number[] = [];
  assert(
    fc.property(fc.nat(), (one) => void seen.push(one)),
    { numRuns: 4 },
  );
  expect(seen).toEqual(drawn([7, 8, 9]));
});

test('so does one that takes its time', async () => {
  const { assert } = await load('7', '3');
  const seen: number[] = [];
  await assert(
    fc.asyncProperty(fc.nat(), async (one) => void seen.push(one)),
    { numRuns: 4 },
  );
  expect(seen).toEqual(drawn([7, 8, 9]));
});

test('one that fails under a later seed fails', async () => {
  const { assert } = await load('7', '3');
  const first = new Set(drawn([7]));
  const isFirst = (one: number): boolean => first.has(one);
  expect(() => assert(fc.property(fc.nat(), isFirst), { numRuns: 4 })).toThrow('seed: 8');
  const later = fc.asyncProperty(fc.nat(), async (one) => isFirst(one));
  await expect(assert(later, { numRuns: 4 })).rejects.toThrow('seed: 8');
});

test('fewer runs are made where they are the same each time, and all examples', async () => {
  const runsOf = async (percent: string, examples: [number][]): Promise<number> => {
    const { assert } = await load('7', '1', percent);
    let runs = 0;
    assert(
      fc.property(fc.nat(), () => void runs++),
      { numRuns: 10, examples },
    );
    return runs;
  };
  expect(await runsOf('', [])).toBe(10);
  expect(await runsOf('25', [])).toBe(3);
  expect(await runsOf('25', [[1], [2], [3], [4]])).toBe(4);
});

test('each run has the same seed unless it is told another', async () => {
  const { assert } = await load('', '');
  const seen: number[] = [];
  assert(
    fc.property(fc.nat(), (one) => void seen.push(one)),
    { numRuns: 4 },
  );
  expect(seen).toEqual(drawn([2016]));
  await expect(load('many', '1')).rejects.toThrow('PADDLET_PROPERTY_SEED: expected a number');
});
