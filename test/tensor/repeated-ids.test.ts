/** A push with an id that is repeated is refused, whatever the list. */

import { describe, expect, it } from 'vitest';
import { mix64 } from '../../src/base/mix64.ts';
import * as fc from '../properties.ts';
import { applyAll, HIGHEST, makeParameters, rowsPart, table } from './fixture.ts';
import { GOLDEN, idOfHash, MASK_64 } from './id-of-hash.ts';

const parameters = makeParameters({ spec: table(1) });

/** What a check of a push of these ids says. */
function refusal(ids: readonly bigint[]): string | undefined {
  try {
    parameters.check([rowsPart(0, ids, new Float32Array(ids.length))], [], applyAll());
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'BadMessage' });
    return (error as Error).message;
  }
}

function expected(ids: readonly bigint[]): string | undefined {
  const seen = new Set<bigint>();
  for (const id of ids) {
    if (seen.has(id)) return `rows: id ${id} is repeated`;
    seen.add(id);
  }
  return undefined;
}

/** Makers of distinct ids, from n = 1, 2, 3, … */
type Shapes = Readonly<Record<string, (n: bigint) => bigint>>;

/** What a client would choose that knows the code. */
const HOSTILE: Shapes = {
  'whose hashes have the same high half': (n) => idOfHash((0x1234_5678n << 32n) | ((0x9e37_79b1n * n) & 0xffff_ffffn)),
  'that set the same bits of one word of the filter': (n) => idOfHash((n << 18n) | 0x2_a5a5n),
  'whose products with a usual multiplier have the same high half': (n) => (GOLDEN * n) & MASK_64,
};

const SHAPES: Shapes = {
  'of any value': (n) => mix64(n),
  'that count up': (n) => n,
  'that count down from the highest': (n) => HIGHEST - n,
  'with nothing but high bits': (n) => (n << 44n) & MASK_64,
  ...HOSTILE,
};

const listOf = (shape: string, count: number): bigint[] =>
  Array.from({ length: count }, (_, i) => SHAPES[shape]!(BigInt(i + 1)));

describe.each(Object.keys(SHAPES))('ids %s', (shape) => {
  it('are refused when a Set of them is smaller, and only then', () => {
    const all = listOf(shape, 3000);
    expect(new Set(all).size).toBe(all.length);
    const places = fc.array(fc.nat({ max: all.length - 1 }), { maxLength: 5 });
    fc.assert(
      fc.property(fc.nat({ max: all.length }), fc.nat(), places, places, (count, from, sources, targets) => {
        const ids = Array.from({ length: count }, (_, i) => all[(from + i) % all.length]!);
        sources.forEach((source, i) => {
          const target = targets[i];
          if (count > 0 && target !== undefined) ids[target % count] = ids[source % count]!;
        });
        expect(refusal(ids)).toBe(expected(ids));
      }),
      { numRuns: 40 },
    );
  });
});

describe('a long list', () => {
  const COUNT = 500_000;

  // A set whose chains the sender can choose takes COUNT² / 2 steps, which is longer than a test may take.
  it.each(Object.keys(HOSTILE))(
    'of ids %s is looked through in a number of steps that grows like its length',
    (shape) => {
      const ids = listOf(shape, COUNT);
      const distinct = ids.slice();
      expect(refusal(distinct)).toBeUndefined();
      ids[COUNT - 1] = ids[7]!;
      expect(refusal(ids)).toBe(`rows: id ${ids[7]} is repeated`);
    },
  );
});

describe('short lists', () => {
  it('of no id, of one, of two', () => {
    expect(refusal([])).toBeUndefined();
    expect(refusal([0n])).toBeUndefined();
    expect(refusal([0n, HIGHEST])).toBeUndefined();
    expect(refusal([0n, 0n])).toBe('rows: id 0 is repeated');
    expect(refusal([HIGHEST, 0n, HIGHEST])).toBe(`rows: id ${HIGHEST} is repeated`);
  });
});
