/** Groups of records that are the values of a category (`data.groupBy`). */
import { assert } from '../../base/assert.ts';
import { type Column, slotsOf, vocabularyOf } from './column.ts';
import { halvesOf, missingId, vocabularySeed } from './hash.ts';
import type { ColumnPiece } from './piece.ts';

const MOST_U32 = 2 ** 32 - 1;

/** The id of the value is the group, in u32 halves; a record without a value has none. */
export function groupsBy(columns: readonly Column[], name: string): (piece: ColumnPiece) => Uint32Array {
  const { single, lists } = slotsOf(columns);
  const slot = single.findIndex((column) => column.name === name);
  if (slot >= 0) {
    const vocabulary = vocabularyOf(single[slot]!);
    assert(vocabulary !== undefined, 'a category of one hashed id has a vocabulary');
    const none = halvesOf(missingId(vocabularySeed(vocabulary)));
    return ({ single: ids }) => withoutMissing(ids[slot]!, none);
  }
  // Whole numbers, of which a record may have none.
  const list = lists.findIndex((column) => column.name === name);
  assert(list >= 0, 'records are grouped by a category');
  return ({ records, lists: spans, listIds }) => {
    const { starts, ends } = spans[list]!;
    const groups = new Uint32Array(2 * records).fill(MOST_U32);
    for (let record = 0; record < records; record++) {
      const start = starts[record]!;
      if (start === ends[record]!) continue;
      groups.set(listIds.subarray(2 * start, 2 * start + 2), 2 * record);
    }
    return groups;
  };
}

function withoutMissing(ids: Uint32Array, [low, high]: readonly [number, number]): Uint32Array {
  const groups = ids.slice();
  for (let at = 0; at < groups.length; at += 2) {
    if (groups[at] === low && groups[at + 1] === high) groups.fill(MOST_U32, at, at + 2);
  }
  return groups;
}
