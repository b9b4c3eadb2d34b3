/** How records of columns are told apart, and picked, when only some of a file belong to a dataset. */
import { assert } from '../../base/assert.ts';
import { picked } from '../piece.ts';
import type { Picking } from '../selecting.ts';
import type { Selection } from '../selection.ts';
import { type Column, slotsOf } from './column.ts';
import type { ColumnPiece } from './piece.ts';

const MOST_U32 = 2 ** 32 - 1;

export const columnPicking = (selection: Selection, columns: readonly Column[]): Picking<ColumnPiece> => ({
  splitBy: splitBy(selection, columns),
  timeOf: ({ times }, record) => times?.[record],
  pick: (piece, kept, facts) => ({
    ...facts,
    numbers: piece.numbers.map((numbers) => picked.floats(numbers, kept)),
    single: piece.single.map((ids) => picked.halves(ids, kept)),
    lists: piece.lists.map((list) => pickedSpans(list, kept)),
    listIds: piece.listIds,
    texts: piece.texts.map((texts) => pickedSpans(texts, kept)),
    bytes: piece.bytes,
    times: piece.times && Float64Array.from(kept, (record) => piece.times![record]!),
  }),
});

type Spans = ColumnPiece['lists'][number];

const pickedSpans = ({ starts, ends }: Spans, kept: readonly number[]): Spans => ({
  starts: picked.words(starts, kept),
  ends: picked.words(ends, kept),
});

/** Undefined where a record has none. */
function groupAt(groups: Uint32Array, record: number): [number, number] | undefined {
  const [low, high] = [groups[2 * record]!, groups[2 * record + 1]!];
  return low === MOST_U32 && high === MOST_U32 ? undefined : [low, high];
}

/** The value that a split goes by: of a category, or of the group. */
function splitBy({ split }: Selection, columns: readonly Column[]): NonNullable<Picking<ColumnPiece>['splitBy']> {
  const by = split !== undefined && 'by' in split ? split.by : undefined;
  if (by === undefined) return () => undefined;
  const column = columns.find(({ name }) => name === by);
  assert(column !== undefined, 'a split is by a column of the job');
  const slots = slotsOf(columns);
  const halves = (ids: Uint32Array, at: number): [number, number] => [ids[2 * at]!, ids[2 * at + 1]!];
  if (column.type === 'group') return ({ groups }, record) => groups && groupAt(groups, record);
  const single = slots.single.findIndex(({ name }) => name === by);
  if (single >= 0) return (piece, record) => halves(piece.single[single]!, record);
  const list = slots.lists.findIndex(({ name }) => name === by);
  return ({ lists, listIds }, record) => {
    const { starts, ends } = lists[list]!;
    return starts[record] === ends[record] ? undefined : halves(listIds, starts[record]!);
  };
}
