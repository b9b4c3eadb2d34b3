/** Pservers that are each other's backups, with a window of one update: from every world a way leads to the end. */
import { describe, expect, it } from 'vitest';
import { exploreLinks, type LinkShape } from './link-model.ts';

const TWO: LinkShape = {
  ...{
    pservers: 2,
    copies: [
      [0, 1],
      [1, 0],
    ],
    pushBytes: 100,
    windowPushes: 1,
  },
  ...{ pushes: 2, cuts: 0, silences: 0 },
};

const SHAPES: readonly [string, LinkShape, fewest: number][] = [
  ['nothing fails', TWO, 100],
  [
    'three in a ring',
    {
      ...TWO,
      pservers: 3,
      copies: [
        [0, 1],
        [1, 2],
        [2, 0],
      ],
      pushes: 1,
    },
    100,
  ],
  ['a connection is cut', { ...TWO, pushes: 1, cuts: 1 }, 100],
  ['a backup is taken out', { ...TWO, pushes: 1, silences: 1 }, 100],
];

describe('pservers that are each other’s backups never wait for each other', () => {
  it.each(SHAPES)('%s', (_, shape, fewest) => {
    const { worlds, ends, isComplete } = exploreLinks(shape);
    expect(isComplete).toBe(true);
    expect(ends).toBeGreaterThan(0);
    expect(worlds).toBeGreaterThan(fewest);
  });
});
