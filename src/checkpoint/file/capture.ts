/**
 * Captures one shard. Its copy is synchronous, so values, state, position and ledger belong together; what is not yet
 * captured may change in the meantime (DESIGN: rolling capture).
 */
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
}

/** What a file is written from: the parameters, or a view of them as they were. */
export type Capturable = Pick<Parameters, 'exportRows' | 'exportBlocks' | 'stats'>;

/** Copies one shard as it is now. */
export function captureShard(
  parameters: Capturable,
  meta: CheckpointMeta,
  moment: ShardMoment,
  memory?: RowMemory,
): CapturedShard {
  const { shard } = moment;
  const stored = storedTables(meta.parameters.sparse);
  const tables = stored.map((_, table) => parameters.exportRows(shard, table, memory));
  return { ...moment, tables, blocks: parameters.exportBlocks(shard) };
}
