/** Puts the records of each group together, in steps: by sorting, as a hash table stops for long whenever it grows. */
import { inPieces, type Steps } from '../base/steps.ts';
import { type NumberedKeys, sortedByKey } from './radix-sort.ts';

export interface GroupedRecords {
  readonly records: NumberedKeys;
  /** Of each group, where it ends in them. */
  readonly ends: Uint32Array;
}

/**
 * Groups come in order of first appearance by the numbers of their records; in a group, records keep the order that
 * they are given in. Records without a group are left out.
 */
export function* recordsByGroup(records: NumberedKeys, groups: Uint8Array): Steps<GroupedRecords> {
  const { numbers, counts: ends } = yield* numberedGroups(groups);
  let before = 0;
  yield* inPieces(ends.length, (from, to) => {
    for (let group = from; group < to; group++) {
      const count = ends[group]!;
      ends[group] = before;
      before += count;
    }
  });
  const grouped = new Uint32Array(2 * before);
  yield* inPieces(numbers.length, (from, to) => {
    for (let at = from; at < to; at++) {
      const number = numbers[records[2 * at]!]!;
      if (number < 0) continue;
      const place = ends[number]!++;
      grouped[2 * place] = records[2 * at]!;
      grouped[2 * place + 1] = records[2 * at + 1]!;
    }
  });
  return { records: grouped, ends };
}

const MOST_U32 = 0xffffffff;

interface NumberedGroups {
  /** Of each record, the number of its group in order of first appearance; −1 without a group. */
  readonly numbers: Int32Array;
  /** Records of each group. */
  readonly counts: Uint32Array;
}

function* numberedGroups(groups: Uint8Array): Steps<NumberedGroups> {
  const ids = new Uint32Array(groups.buffer, groups.byteOffset, groups.length / 4);
  const records = ids.length / 2;
  const firsts = yield* firstOfGroup(ids);
  const numbers = new Int32Array(records);
  const counts = new Uint32Array(records);
  let known = 0;
  yield* inPieces(records, (from, to) => {
    for (let at = from; at < to; at++) {
      // `NO_GROUP` has all bits.
      if (ids[2 * at] === MOST_U32 && ids[2 * at + 1] === MOST_U32) numbers[at] = -1;
      else {
        const number = firsts[at] === at ? known++ : numbers[firsts[at]!]!;
        numbers[at] = number;
        counts[number]! += 1;
      }
    }
  });
  return { numbers, counts: counts.subarray(0, known) };
}

/** Of each record, the first one of its group. */
function* firstOfGroup(ids: Uint32Array): Steps<Uint32Array> {
  const records = ids.length / 2;
  let sorted = new Uint32Array(2 * records);
  yield* inPieces(records, (from, to) => {
    for (let at = from; at < to; at++) sorted[2 * at] = at;
  });
  for (const half of [0, 1]) {
    yield* inPieces(records, (from, to) => {
      for (let at = from; at < to; at++) sorted[2 * at + 1] = ids[2 * sorted[2 * at]! + half]!;
    });
    sorted = yield* sortedByKey(sorted);
  }
  const firsts = new Uint32Array(records);
  let first = 0;
  yield* inPieces(records, (from, to) => {
    for (let at = from; at < to; at++) {
      const record = sorted[2 * at]!;
      // Equal ids are in the order of their records.
      if (at === 0 || ids[2 * record] !== ids[2 * first] || ids[2 * record + 1] !== ids[2 * first + 1]) first = record;
      firsts[record] = first;
    }
  });
  return firsts;
}
