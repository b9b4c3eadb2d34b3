/**
 * The tables of the plain loop, if one of them admits or evicts (docs/decisions/0168): then it matters to which shard
 * an id belongs. The rules are those of the reference (test/endless/shard.ts), the arithmetic is that of
 * test/tensor/reference.ts.
 */
import type { Job } from '../../src/job/schema.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { isTracked, type JobRules, type Values } from '../endless/rules.ts';
import { NO_OBSERVER, type Observer, Shard } from '../endless/shard.ts';
import { drawOf } from '../tensor/admission/draw.ts';
import { freshState, joined, type State, updateReference } from '../tensor/reference.ts';
import { withShare } from './plain-schedule.ts';
import {
  firstRow,
  isCounting,
  type PlainRound,
  type PlainTable,
  type StoredCandidate,
  type StoredRow,
  type TableMemory,
} from './plain-tables.ts';

/** What the rules did in a job. A test that compares digests checks that it is not nothing. */
export interface LimitCounts {
  /** Rows and candidates that were evicted: unseen for too long, or because of the bound. */
  unseen: number;
  bound: number;
  /** New ids without a place, because of the bound. */
  refused: number;
  /** Candidates that got their rows. */
  promoted: number;
  /** Gradients of ids that had no row after the update. */
  dropped: number;
}

interface RowGradient {
  readonly table: number;
  readonly values: Float32Array;
}

export const areLimited = (tables: readonly PlainTable[]): boolean =>
  tables.some(({ admission, eviction, maxBytes }) => (admission ?? eviction ?? maxBytes) !== undefined);

export class LimitedTables implements TableMemory {
  readonly counts: LimitCounts = { unseen: 0, bound: 0, refused: 0, promoted: 0, dropped: 0 };
  readonly #tables: readonly PlainTable[];
  readonly #rules: JobRules;
  readonly #shards: readonly Shard[];
  /** First values by table and id: the loop needs those of an id without a row at each pull. */
  readonly #first: readonly Map<bigint, Float32Array>[];
  /** The round that is applied. The reference knows a gradient by its place in this list. */
  #gradients: RowGradient[] = [];
  #share = 1;

  constructor(tables: readonly PlainTable[], { shards, tasks }: Pick<JobRules, 'shards' | 'tasks'>) {
    this.#tables = tables;
    this.#first = tables.map(() => new Map());
    this.#rules = {
      ...{ shards, tasks, hasDeltas: false, seenLimit: 2 ** 32, spread: 64 },
      tables: tables.map((table) => ({
        admission: table.admission ?? { type: 'all' },
        eviction: evictionOf(table.eviction),
        maxBytes: table.maxBytes,
        rowBytes: rowBytesOf(table),
      })),
      arithmetic: {
        initialRow: (table, id) => numbersOf(freshState(tables[table]!.optimizer, this.#firstRow(table, id))),
        initialBlock: () => [],
        update: (values, gradient) => this.#updated(values, this.#gradients[gradient]!),
      },
      draw: (table, id, name) => drawOf(tables[table]!, id, name),
    };
    this.#shards = Array.from({ length: shards }, (_, shard) => new Shard(this.#rules, shard));
    const observer: Observer = {
      ...NO_OBSERVER,
      gone: (_, __, cause) => void this.counts[cause]++,
      refused: () => void this.counts.refused++,
    };
    for (const shard of this.#shards) shard.observer = observer;
  }

  values(table: number, id: bigint): Float32Array {
    const row = this.#shardOf(table, id).state.tables[table]!.rows.get(id);
    if (row === undefined) return this.#firstRow(table, id);
    return Float32Array.from(row.values.slice(0, this.#tables[table]!.width));
  }

  apply({ round, positions, share, gradients }: PlainRound): void {
    this.#gradients = [];
    this.#share = share;
    const named = this.#shards.map(() => this.#tables.map(() => new Map<bigint, number>()));
    gradients.forEach((rows, table) => {
      for (const [id, values] of rows) {
        named[this.#shardOf(table, id).number]![table]!.set(id, this.#gradients.length);
        this.#gradients.push({ table, values });
      }
    });
    for (const shard of this.#shards) {
      const tables = named[shard.number]!;
      const before = shard.state.tables.map(({ candidates }) => new Set(candidates.keys()));
      shard.apply({ type: 'round', round, positions, tables, blocks: new Map() });
      shard.state.tables.forEach(({ rows }, table) => {
        for (const id of tables[table]!.keys()) {
          if (!rows.has(id)) this.counts.dropped++;
          else if (before[table]!.has(id)) this.counts.promoted++;
        }
      });
    }
  }

  rows(table: number): ReadonlyMap<bigint, StoredRow> {
    const hasSeen = isTracked(this.#rules, this.#rules.tables[table]!);
    const all = new Map<bigint, StoredRow>();
    for (const { state } of this.#shards)
      for (const [id, { values, seen }] of state.tables[table]!.rows)
        all.set(id, { ...this.#stateOf(table, values), seen: hasSeen ? seen - state.base : undefined });
    return all;
  }

  candidates(table: number): ReadonlyMap<bigint, StoredCandidate> | undefined {
    if (this.#tables[table]!.admission?.type !== 'count') return undefined;
    return new Map(this.#shards.flatMap(({ state }) => [...state.tables[table]!.candidates]));
  }

  #firstRow(table: number, id: bigint): Float32Array {
    const known = this.#first[table]!;
    const row = known.get(id) ?? firstRow(this.#tables[table]!, id);
    known.set(id, row);
    return row;
  }

  #shardOf(table: number, id: bigint): Shard {
    return this.#shards[shardOfRow(this.#tables[table]!.name, id, this.#shards.length)]!;
  }

  #stateOf(table: number, numbers: Values): State {
    const { width } = this.#tables[table]!;
    const [values, ...slots] = Array.from({ length: (numbers.length - 1) / width }, (_, at) =>
      Float32Array.from(numbers.slice(at * width, (at + 1) * width)),
    );
    return { values: values!, slots, step: numbers.at(-1)! };
  }

  #updated(numbers: Values, { table, values }: RowGradient): Values {
    const state = this.#stateOf(table, numbers);
    updateReference(withShare(this.#tables[table]!.optimizer, this.#share), state, values);
    return numbersOf(state);
  }
}

/** Values and slots one after the other, then the number of updates: as the reference keeps a row. */
const numbersOf = ({ values, slots, step }: State): Values => [...joined([values, ...slots]), step];

/** As docs/job-file.md counts the bytes of a row. */
function rowBytesOf({ optimizer, width, eviction, maxBytes }: PlainTable): number {
  const { slots } = freshState(optimizer, new Float32Array(width));
  const hasSeen = (eviction ?? maxBytes) !== undefined;
  return 8 + 4 * width * (1 + slots.length) + (isCounting(optimizer) ? 4 : 0) + (hasSeen ? 4 : 0);
}

function evictionOf(eviction: Job['tables'][string]['eviction']): JobRules['tables'][number]['eviction'] {
  const { unseenPasses, unseenUpdates } = eviction ?? {};
  if (unseenPasses !== undefined) return { unseenPasses };
  return unseenUpdates === undefined ? undefined : { unseenUpdates };
}
