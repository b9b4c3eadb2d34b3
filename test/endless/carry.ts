/** How the state of a shard travels: moves and copies carry all of it, a delta what changed since its parent. */
import { assert } from '../../src/base/assert.ts';
import type { JobRules } from './rules.ts';
import { type Block, type Candidate, type Row, raiseSeen, type ShardState } from './shard.ts';
import { Ledger } from './update.ts';

export interface SavedTable {
  readonly rows: ReadonlyMap<bigint, Row>;
  readonly candidates: ReadonlyMap<bigint, Candidate>;
  /** Ids that the parent may have as row or candidate, and that are neither now. Empty in a whole copy. */
  readonly gone: readonly bigint[];
  readonly lookAt: number | undefined;
}

/** A shard at one instant: all of it, or what changed since its parent. */
export interface SavedShard {
  readonly shard: number;
  readonly seq: number;
  readonly base: number;
  readonly moveAt: number | undefined;
  readonly begins: readonly (readonly [number, number])[];
  readonly ledger: readonly (readonly [string, number])[];
  readonly tables: readonly SavedTable[];
  readonly blocks: ReadonlyMap<number, Block>;
}

/** The whole shard, as moves, copies and whole checkpoints carry it. */
export function captureWhole(shard: number, state: ShardState): SavedShard {
  return capture(
    shard,
    state,
    () => true,
    state.tables.map(() => new Map()),
  );
}

/**
 * What changed since the state at `since` of the same memory: whatever has a later `seen`, and the ids that were
 * removed later. `gone` has their `seq` by table.
 */
export function captureChanges(
  shard: number,
  state: ShardState,
  since: number,
  gone: readonly ReadonlyMap<bigint, number>[],
): SavedShard {
  gone.forEach((table, at) => {
    const { rows, candidates } = state.tables[at]!;
    for (const id of table.keys()) assert(!rows.has(id) && !candidates.has(id), 'an id that is gone is nothing else');
  });
  const later = gone.map((table) => new Map([...table].filter(([, seq]) => seq > since)));
  return capture(shard, state, ({ seen }) => seen > since, later);
}

function capture(
  shard: number,
  { seq, base, moveAt, begins, ledger, tables, blocks }: ShardState,
  isChanged: (one: { readonly seen: number }) => boolean,
  gone: readonly ReadonlyMap<bigint, number>[],
): SavedShard {
  const changed = <K, T extends { readonly seen: number }>(all: ReadonlyMap<K, T>): Map<K, T> =>
    new Map([...all].filter(([, one]) => isChanged(one)));
  return {
    ...{ shard, seq, base, moveAt, begins: [...begins], ledger: ledger.entries() },
    tables: tables.map(({ rows, candidates, lookAt }, table) => ({
      ...{ rows: changed(rows), candidates: changed(candidates), gone: [...gone[table]!.keys()], lookAt },
    })),
    blocks: changed(blocks),
  };
}

/** The state that a chain describes: a whole copy first, then the changes since each, in order. */
export function restored(rules: JobRules, chain: readonly SavedShard[]): ShardState {
  const { seq, base, moveAt, begins, ledger } = chain.at(-1)!;
  const state: ShardState = {
    ...{ seq, base, moveAt, begins: new Map(begins), ledger: new Ledger(rules.tasks, ledger), blocks: new Map() },
    tables: rules.tables.map((_, table) => ({
      ...{ rows: new Map(), candidates: new Map(), lookAt: chain.at(-1)!.tables[table]!.lookAt },
    })),
  };
  for (const saved of chain) addChanges(state, saved);
  // The base may have moved since the parent was captured.
  raiseSeen(state, rules);
  return state;
}

/** An id is a row, a candidate or gone: its last state replaces the former one. */
function addChanges(state: ShardState, saved: SavedShard): void {
  saved.tables.forEach(({ rows, candidates, gone }, table) => {
    const into = state.tables[table]!;
    for (const id of [...rows.keys(), ...candidates.keys(), ...gone]) {
      into.rows.delete(id);
      into.candidates.delete(id);
    }
    for (const [id, row] of rows) into.rows.set(id, row);
    for (const [id, candidate] of candidates) into.candidates.set(id, candidate);
  });
  for (const [block, one] of saved.blocks) state.blocks.set(block, one);
}
