/** Some rows of a table, copied into arrays of their own. */
import type { ShardRows } from './parameters.ts';

export interface PickedRow {
  readonly rows: ShardRows;
  /** Place of the row in them. */
  readonly at: number;
}

export const idOfPicked = ({ rows, at }: PickedRow): bigint => rows.ids[at]!;

/** Copies the rows in the given order. `like`: rows of the same table, which say what a row has if there is none. */
export function pickRows(like: ShardRows, picked: readonly PickedRow[]): ShardRows {
  const gather = (columnOf: (rows: ShardRows) => Float32Array): Float32Array => {
    const first = picked[0];
    const width = first === undefined ? 0 : columnOf(first.rows).length / first.rows.ids.length;
    const gathered = new Float32Array(picked.length * width);
    picked.forEach(({ rows, at }, i) => {
      gathered.set(columnOf(rows).subarray(at * width, (at + 1) * width), i * width);
    });
    return gathered;
  };
  return {
    ids: BigUint64Array.from(picked, idOfPicked),
    values: gather((rows) => rows.values),
    slots: Object.fromEntries(Object.keys(like.slots).map((name) => [name, gather((rows) => rows.slots[name]!)])),
    steps: like.steps && Uint32Array.from(picked, ({ rows, at }) => rows.steps![at]!),
    ...(like.seen && { seen: Uint32Array.from(picked, ({ rows, at }) => rows.seen![at]!) }),
  };
}
