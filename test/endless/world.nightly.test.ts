/** As world.test.ts: every pair of tables in every mode, under seeds that are drawn for this run. */
import { describe, expect, it } from 'vitest';
import { MODES, PAIRS, runWorld } from './worlds.ts';

const SEEDS = 10;
const first = Math.floor(Math.random() * 2 ** 30);

describe.each(MODES)('$mode, copies: $copies', (mode) => {
  it.each(PAIRS)('$names', (pair) => {
    for (let seed = first; seed < first + SEEDS; seed++) {
      try {
        runWorld(seed, pair, mode);
      } catch (error) {
        expect.fail(`seed ${seed}: ${(error as Error).message}`);
      }
    }
  });
});
