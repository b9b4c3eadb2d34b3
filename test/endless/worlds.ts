/** Runs a world with two of the tables of jobs.ts, and checks the facts of each of its shards. */
import { checkFacts } from './facts.ts';
import { allTables, jobOf } from './jobs.ts';
import { World } from './world.ts';

const SHARDS = 3;
const STEPS = 400;
const PASSES = 12;
const PUSHES = 5;

export const MODES = [
  { mode: 'async', copies: 1 },
  { mode: 'async', copies: 2 },
  { mode: 'sync', copies: 1 },
  { mode: 'sync', copies: 2 },
] as const;
export type Mode = (typeof MODES)[number];

const TABLES = allTables(SHARDS);
/** Every table with another one: what one of them does must not show in the other. */
export const PAIRS = TABLES.map((table, at) => {
  const tables = [table, TABLES[(at + 7) % TABLES.length]!];
  return { names: tables.map(({ name }) => name).join(' + '), rules: tables.map(({ rules }) => rules) };
});
export type Pair = (typeof PAIRS)[number];

/** Throws if anything is not as it must be. Returns how often each thing happened. */
export function runWorld(seed: number, { rules: tables }: Pair, { mode, copies }: Mode): ReadonlyMap<string, number> {
  const rules = jobOf(SHARDS, tables, seed);
  const world = new World({ seed, rules, mode, copies, passes: PASSES, pushes: PUSHES });
  world.run(STEPS);
  return world.logs().reduce((counts, log, shard) => sum(counts, checkFacts(rules, shard, log)), world.counts);
}

export function sum(some: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>): Map<string, number> {
  const all = new Map(some);
  for (const [what, count] of others) all.set(what, (all.get(what) ?? 0) + count);
  return all;
}
