/**
 * `checkpoint export --since`: what is to be done with an earlier export to have the later one. Rows are compared, so
 * that this works for any two exports, whatever was saved in between.
 */
import type { ShardRows } from '../../tensor/parameters.ts';
import { type PickedRow, pickRows } from '../../tensor/pick-rows.ts';
import { wordsOf } from '../file/words.ts';
import { RowCursor } from '../set/row-cursor.ts';

export interface ChangedRows {
  /** Rows that are new, or that have changed. */
  readonly rows: ShardRows;
  /** Ids that only the earlier export has. */
  readonly gone: BigUint64Array;
}

const GONE_AT_ONCE = 64 * 1024;

/** Both ascending by id and with the same columns. Pieces are valid until the next one is asked for. */
export async function* changedRows(
  before: AsyncGenerator<ShardRows>,
  after: AsyncGenerator<ShardRows>,
): AsyncGenerator<ChangedRows> {
  const [old, now] = [new RowCursor(before, () => {}), new RowCursor(after, () => {})];
  await old.step();
  await now.step();
  let isChanged = comparisonOf(old.rows, now.rows);
  let gone: bigint[] = [];
  let picked: PickedRow[] = [];
  const piece = (): ChangedRows => {
    const changed = { rows: pickRows(now.rows, picked), gone: BigUint64Array.from(gone) };
    [gone, picked] = [[], []];
    return changed;
  };
  while (!old.isAtEnd() || !now.isAtEnd()) {
    const order = old.compare(now);
    if (order < 0) gone.push(old.rows.ids[old.at]!);
    else if (order > 0 || isChanged(old.at, now.at)) picked.push({ rows: now.rows, at: now.at });
    const [isOldBatch, isNowBatch] = [order <= 0 && !old.skip(), order >= 0 && !now.skip()];
    if (isNowBatch || gone.length === GONE_AT_ONCE) yield piece();
    if (isOldBatch) await old.step();
    if (isNowBatch) await now.step();
    if (isOldBatch || isNowBatch) isChanged = comparisonOf(old.rows, now.rows);
  }
  if (gone.length > 0) yield piece();
}

/** Compares bits: a NaN is like itself, and 0 is not -0. */
function comparisonOf(before: ShardRows, after: ShardRows): (old: number, now: number) => boolean {
  const columns = matrices(after).map(([name, cells]) => {
    const other = matrices(before).find(([one]) => one === name)?.[1];
    return { now: wordsOf(cells), old: wordsOf(other ?? new Float32Array(0)), width: cells.length / after.ids.length };
  });
  return (old, now) =>
    columns.some(({ old: a, now: b, width }) => {
      for (let at = 0; at < width; at++) if (a[old * width + at] !== b[now * width + at]) return true;
      return false;
    });
}

const matrices = ({ values, slots, steps }: ShardRows): (readonly [string, Float32Array | Uint32Array])[] => [
  ['values', values],
  ...Object.entries(slots),
  ...(steps === undefined ? [] : [['steps', steps] as const]),
];
