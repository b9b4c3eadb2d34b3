/** A job for the reference (test/endless/shard.ts) with the arithmetic of the kernels: both have the same bits. */
import type { Eviction } from '../../../src/core/shard/looks.ts';
import type { AdmissionRules } from '../../../src/tensor/admission/admission.ts';
import type { TrainedTable } from '../../../src/tensor/optimizer.ts';
import type { JobRules, Values } from '../../endless/rules.ts';
import { initialValue } from '../reference.ts';
import { drawOf } from './draw.ts';

export interface TriedTable extends AdmissionRules {
  readonly name: string;
  readonly hasSeen: boolean;
  readonly eviction?: Eviction | undefined;
}

export const SEED = 7;
const INITIALIZER = { type: 'normal', mean: 0, stddev: 1 } as const;
/** The order of updates shows in the velocity. */
const MOMENTUM = { type: 'momentum', learningRate: 1, momentum: 0.5, l2: 0 } as const;
/** u64 id, value, velocity, `seen`. */
export const ROW_BYTES = 20;

export const trainedTables = (tables: readonly TriedTable[]): TrainedTable[] =>
  tables.map(({ eviction: _, ...table }) => ({
    ...{ ...table, width: 1, initializer: INITIALIZER, optimizer: MOMENTUM },
  }));

/** Place of the candidates of a table among the stored tables. */
export const candidatesOf = (tables: readonly TriedTable[], table: number): number =>
  tables.length + tables.slice(0, table).filter(({ admission }) => admission?.type === 'count').length;

export function rulesOf(
  tables: readonly TriedTable[],
  { shards, tasks, seenLimit, spread }: Pick<JobRules, 'shards' | 'tasks' | 'seenLimit' | 'spread'>,
): JobRules {
  return {
    ...{ shards, tasks, seenLimit, spread, hasDeltas: false },
    tables: tables.map(({ admission, shardBytes, hasSeen, eviction }) => ({
      admission: admission ?? { type: 'all' },
      // One that is never due says only that rows have a `seen`.
      eviction: eviction ?? (hasSeen ? { unseenUpdates: 2 ** 40 } : undefined),
      maxBytes: shardBytes && shardBytes * shards,
      rowBytes: ROW_BYTES,
    })),
    arithmetic: {
      initialRow: (table, id) => {
        const { name } = tables[table]!;
        return [initialValue(INITIALIZER, { name, seed: SEED, shape: [1, 1], id, element: 0 }), 0];
      },
      initialBlock: () => [],
      update: ([value, velocity]: Values, gradient) => {
        const next = Math.fround(Math.fround(0.5 * velocity!) + gradient);
        return [Math.fround(value! - next), next];
      },
    },
    draw: (table, id, name) => drawOf({ name: tables[table]!.name, seed: SEED }, id, name),
  };
}
