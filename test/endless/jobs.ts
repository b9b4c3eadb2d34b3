/** Jobs of the simulation: every combination of admission, eviction and bound, in small. */
import { createDice } from '../sim/dice.ts';
import type { Admission, Arithmetic, Eviction, JobRules, TableRules, UpdateName } from './rules.ts';

const ADMISSIONS: readonly Admission[] = [{ type: 'all' }, { type: 'count', min: 2 }, { type: 'probability', p: 0.3 }];
/** In tables with a bound: a candidate whose row is refused keeps a count that others reach, too. */
const HIGHER_COUNT: Admission = { type: 'count', min: 3 };
const EVICTIONS: readonly (Eviction | undefined)[] = [undefined, { unseenPasses: 1 }, { unseenUpdates: 16 }];

/** Rows that fit into a shard: fewer than the ids that a pass names. */
const ROWS = 12;
const ROW_BYTES = 24;

export interface NamedTable {
  readonly name: string;
  readonly rules: TableRules;
}

/** Returns a table for each combination. `shards`: number of shards of the job, which share the bound. */
export function allTables(shards: number): NamedTable[] {
  const bounds = [undefined, ROWS * ROW_BYTES * shards];
  return ADMISSIONS.flatMap((admission) =>
    EVICTIONS.flatMap((eviction) =>
      bounds.map((maxBytes) => ({
        name: [admission.type, Object.keys(eviction ?? {})[0] ?? 'no eviction', maxBytes ? 'bound' : 'no bound'].join(),
        rules: {
          admission: maxBytes && admission.type === 'count' ? HIGHER_COUNT : admission,
          eviction,
          maxBytes,
          rowBytes: ROW_BYTES,
        },
      })),
    ),
  );
}

/** Integers whose order shows: exchanged updates give another value. */
const ARITHMETIC: Arithmetic = {
  initialRow: (table, id) => [Number(id % 1000n) + table],
  initialBlock: (block) => [block],
  update: ([value], gradient) => [(Math.imul(value!, 31) + gradient) | 0],
};

const textOf = (name: UpdateName): string =>
  'round' in name ? `round ${name.round}` : `${name.pass}/${name.task}/${name.push}`;

export function jobOf(shards: number, tables: readonly TableRules[], seed: number, hasDeltas = true): JobRules {
  return {
    ...{ shards, tasks: 4, tables, hasDeltas, arithmetic: ARITHMETIC, seenLimit: 128, spread: 8 },
    draw: (table, id, name) => createDice(seed, `draw ${table} ${id} ${textOf(name)}`).fraction(),
  };
}
