/**
 * Captures one shard. Its copy is synchronous, so values, state, position and ledger belong together; what is not yet
 * captured may change in the meantime (DESIGN: rolling capture).
 */
import { assert } from '../../base/assert.ts';
import type { LookState } from '../../core/shard/looks.ts';
import type { Parameters } from '../../tensor/parameters.ts';
import type { RowMemory } from '../../tensor/row-memory.ts';
import { storedTables } from '../../tensor/stored-tables.ts';
import type { CapturedShard } from './extent.ts';
import type { CheckpointMeta, ShardPosition } from './format.ts';

/** A shard's place in the order of updates and its ledger, at the instant of the call. */
export interface ShardMoment extends ShardPosition {
  readonly ledger: Uint8Array;
  /** If rows have a `seen`. */
  readonly looks?: LookState | undefined;
  /**
   * Required with a parent: for each table of the model, the ids that were removed since, ascending and distinct. Some
   * of them may have come back.
   */
  readonly removed?: readonly BigUint64Array[];
}

/** What a file is written from: the parameters, or a view of them as they were. */
export type Capturable = Pick<Parameters, 'exportRows' | 'exportSeen' | 'exportBlocks' | 'stats'>;

/** Copies one shard as it is now. */
export function captureShard(
  parameters: Capturable,
  meta: CheckpointMeta,
  moment: ShardMoment,
  memory?: RowMemory,
): CapturedShard {
  const { shard, removed, ...position } = moment;
  const stored = storedTables(meta.parameters.sparse);
  const { parent } = position;
  if (parent === undefined) {
    const tables = stored.map((_, table) => parameters.exportRows(shard, table, memory));
    return { ...position, shard, tables, blocks: parameters.exportBlocks(shard) };
  }
  assert(moment.looks !== undefined && removed !== undefined, 'rows of a job with deltas have a seen');
  // A parent before the base of `seen`: all rows count as changed, as each of them may have been.
  const least = Math.max(0, parent.seq + 1 - moment.looks.base);
  const tables = stored.map((_, table) => parameters.exportSeen(shard, table, least, memory));
  const gone = meta.parameters.sparse.map(({ name }, table) =>
    stored.reduce(
      (left, one, place) => (one.name === name ? without(left, tables[place]!.ids) : left),
      removed[table]!,
    ),
  );
  // A push or round names all blocks of its shards, so the shard's own position says whether they have changed.
  const blocks = moment.seq === parent.seq ? [] : parameters.exportBlocks(shard);
  return { ...position, shard, tables, blocks, gone };
}

/** Both ascending: the ids that `others` does not have. */
function without(ids: BigUint64Array, others: BigUint64Array): BigUint64Array {
  let at = 0;
  return ids.filter((id) => {
    while (at < others.length && others[at]! < id) at += 1;
    return others[at] !== id;
  });
}
