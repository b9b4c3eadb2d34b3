/**
 * fast-check with the seed of this run: `PADDLET_PROPERTY_SEED`, or a fixed one, so that a test that passed passes
 * again. `scripts/nightly.sh` draws it and prints it, and lets each property hold under `PADDLET_PROPERTY_SEEDS` of
 * them, from that one on. A seed that found a fault becomes an example of its test. `scripts/test.sh` makes fewer runs
 * of each property, as they are the same each time: `PADDLET_PROPERTY_PERCENT` of them, and all examples.
 */
import type { IAsyncProperty, IProperty, Parameters } from 'fast-check';
import * as library from 'fast-check';

export * from 'fast-check';

const FIXED_SEED = 2016;

const seed = numberIn('PADDLET_PROPERTY_SEED', FIXED_SEED);
const seeds = numberIn('PADDLET_PROPERTY_SEEDS', 1);
const percent = numberIn('PADDLET_PROPERTY_PERCENT', 100);
/** fast-check's own. */
const USUAL_RUNS = 100;

function numberIn(variable: string, usual: number): number {
  const text = process.env[variable];
  if (text === undefined || text === '') return usual;
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${variable}: expected a number of 1 to 10 digits, got ${text}`);
  return Number(text);
}

function runsOf<T>({ numRuns = USUAL_RUNS, examples = [] }: Parameters<T>): number {
  const fewer = Math.ceil((numRuns * percent) / 100);
  return Math.max(fewer, Math.min(numRuns, examples.length));
}

/** As fast-check's, under each seed of the run. */
export function assert<T>(property: IAsyncProperty<T>, params?: Parameters<T>): Promise<void>;
export function assert<T>(property: IProperty<T>, params?: Parameters<T>): void;
export function assert<T>(
  property: IProperty<T> | IAsyncProperty<T>,
  params: Parameters<T> = {},
): Promise<void> | void {
  const numRuns = runsOf(params);
  const under = (index: number): Promise<void> | undefined =>
    library.assert(property as IAsyncProperty<T>, { ...params, numRuns, seed: seed + index }) as
      | Promise<void>
      | undefined;
  for (let index = 0; index < seeds; index++) {
    const held = under(index);
    if (held !== undefined) return restOf(held, index, under);
  }
}

async function restOf(first: Promise<void>, index: number, under: (index: number) => unknown): Promise<void> {
  await first;
  for (let next = index + 1; next < seeds; next++) await under(next);
}
