/** The rows of many shards, in file order, each piece read while the one before is put in. */
import type { ShardRows } from '../../tensor/parameters.ts';
import { storedTables } from '../../tensor/stored-tables.ts';
import type { SparseTensors } from '../file/layout.ts';
import type { CheckpointReader } from '../file/reader.ts';
import { createRowBuffers, readRowsInto } from '../file/row-pieces.ts';

/** Few reads, in buffers that stay small. */
const PIECE_BYTES = 4 * 1024 * 1024;

export interface RowPiece {
  readonly shard: number;
  /** A place in `storedTables`. */
  readonly table: number;
  /** Ascending by id. Valid during the call. */
  readonly rows: ShardRows;
}

/** Calls `put` with each piece. Ends with the first error of reading or putting, after all reads have ended. */
export async function eachRowPiece(
  reader: CheckpointReader,
  shards: readonly number[],
  put: (piece: RowPiece) => void,
): Promise<void> {
  const pieces = readPieces(reader, shards);
  for (let next = pieces.next(); ; ) {
    const { value, done } = await next;
    if (done === true) return;
    next = pieces.next();
    try {
      for (const piece of value) put(piece);
    } catch (error) {
      await Promise.allSettled([next]);
      await pieces.return();
      throw error;
    }
  }
}

/** Rows of shards that follow each other in one extent: read together, since most shards' rows are few. */
interface Run {
  readonly tensors: SparseTensors;
  readonly parts: { readonly shard: number; readonly first: number; readonly end: number }[];
}

/** Two sets of buffers, so that a piece stays as it is while the next one is read. */
async function* readPieces(
  reader: CheckpointReader,
  shards: readonly number[],
): AsyncGenerator<RowPiece[], void, void> {
  for (const [table, { width, layout }] of storedTables(reader.facts.parameters.sparse).entries()) {
    const bytes = Math.min(PIECE_BYTES, reader.source.bytes);
    const buffers = [createRowBuffers(width, layout, bytes), createRowBuffers(width, layout, bytes)];
    let pieces = 0;
    for await (const { tensors, parts } of runsOf(reader, shards, table)) {
      const end = parts.at(-1)!.end;
      for (let from = parts[0]!.first; from < end; pieces += 1) {
        const into = buffers[pieces % 2]!;
        const count = Math.min(into.rows, end - from);
        const rows = await readRowsInto(reader.source, { tensors }, from, count, into);
        yield parts.flatMap((part) => {
          const [begin, stop] = [Math.max(part.first, from) - from, Math.min(part.end - from, count)];
          return begin < stop ? [{ shard: part.shard, table, rows: someRows(rows, width, begin, stop) }] : [];
        });
        from += count;
      }
    }
  }
}

async function* runsOf(reader: CheckpointReader, shards: readonly number[], table: number): AsyncGenerator<Run> {
  let run: Run | undefined;
  for (const shard of shards) {
    const { tensors, first, end } = await reader.rowRange(shard, table);
    if (first === end) continue;
    if (run?.tensors === tensors && run.parts.at(-1)!.end === first) {
      run.parts.push({ shard, first, end });
      continue;
    }
    if (run !== undefined) yield run;
    run = { tensors, parts: [{ shard, first, end }] };
  }
  if (run !== undefined) yield run;
}

function someRows({ ids, values, slots, steps, seen }: ShardRows, width: number, from: number, to: number): ShardRows {
  const floats = (all: Float32Array): Float32Array => all.subarray(from * width, to * width);
  return {
    ids: ids.subarray(from, to),
    values: floats(values),
    slots: Object.fromEntries(Object.entries(slots).map(([slot, all]) => [slot, floats(all)])),
    steps: steps?.subarray(from, to),
    seen: seen?.subarray(from, to),
  };
}
