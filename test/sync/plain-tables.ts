/** The sparse tables of the plain loop. A job whose tables keep all their rows has one Map for each table. */
import type { Job } from '../../src/job/schema.ts';
import type { Model } from '../../src/model/model.ts';
import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';
import type { SparseSpec } from '../../src/tensor/spec.ts';
import type { Position } from '../endless/update.ts';
import { freshState, initialValue, type State, updateReference } from '../tensor/reference.ts';
import { withShare } from './plain-schedule.ts';

/** A table of the model, and what the job says about it. */
export interface PlainTable extends SparseSpec, Pick<TableSettings, 'admission' | 'eviction' | 'maxBytes'> {
  readonly optimizer: OptimizerSpec;
  /** Seed of the job. */
  readonly seed: number;
}
type TableSettings = Job['tables'][string];

export interface PlainRound {
  /** Number of the round in the job. */
  readonly round: number;
  /** Positions of the mini-batches, also of those without a good record. */
  readonly positions: readonly Position[];
  /** Factor of each learning rate. */
  readonly share: number;
  /** By table: the mean gradient of each row that the round names. */
  readonly gradients: readonly ReadonlyMap<bigint, Float32Array>[];
}

export interface StoredRow extends State {
  /** Undefined in a table whose rows have no `seen`. */
  readonly seen?: number | undefined;
}

export interface StoredCandidate {
  readonly count: number;
  readonly seen: number;
}

export interface TableMemory {
  /** Values that a trainer pulls. */
  values(table: number, id: bigint): Float32Array;
  apply(round: PlainRound): void;
  rows(table: number): ReadonlyMap<bigint, StoredRow>;
  /** Undefined: the admission rule of the table does not count. */
  candidates(table: number): ReadonlyMap<bigint, StoredCandidate> | undefined;
}

export const plainTables = (
  { parameters }: Model,
  { tables, optimizer, training }: Pick<Job, 'tables' | 'optimizer'> & { readonly training: { readonly seed: number } },
): PlainTable[] =>
  parameters.sparse.map((spec) => {
    const { optimizer: own = optimizer, ...rules } = tables[spec.name] ?? {};
    return { ...spec, ...rules, optimizer: own, seed: training.seed };
  });

/** Optimizers that count the updates of each row and block. */
const COUNTING = ['adam', 'adamw'];
export const isCounting = ({ type }: OptimizerSpec): boolean => COUNTING.includes(type);

export function firstRow({ name, width, initializer, seed }: PlainTable, id: bigint): Float32Array {
  const place = { name, seed, shape: [1, width], id };
  return Float32Array.from({ length: width }, (_, element) => initialValue(initializer, { ...place, element }));
}

export class EveryRow implements TableMemory {
  readonly #tables: readonly PlainTable[];
  readonly #rows: readonly Map<bigint, State>[];

  constructor(tables: readonly PlainTable[]) {
    this.#tables = tables;
    this.#rows = tables.map(() => new Map());
  }

  values(table: number, id: bigint): Float32Array {
    return this.#rows[table]!.get(id)?.values ?? firstRow(this.#tables[table]!, id);
  }

  apply({ gradients, share }: PlainRound): void {
    this.#tables.forEach((table, number) => {
      const optimizer = withShare(table.optimizer, share);
      const rows = this.#rows[number]!;
      for (const [id, gradient] of gradients[number]!) {
        const row = rows.get(id) ?? freshState(table.optimizer, firstRow(table, id));
        rows.set(id, row);
        updateReference(optimizer, row, gradient);
      }
    });
  }

  rows(table: number): ReadonlyMap<bigint, State> {
    return this.#rows[table]!;
  }

  candidates(): undefined {
    return undefined;
  }
}
