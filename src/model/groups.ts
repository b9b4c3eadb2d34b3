/** Puts the records of each group together, in steps: by sorting, as a hash table stops for long whenever it grows. */
import { inPieces, type Steps } from '../base/steps.ts';
import { type NumberedKeys, sortedByKey } from './radix-sort.ts';

export interface GroupedRecords {
  readonly records: NumberedKeys;
  /** For each group, where it ends in `records`. Each group has a record. */
  readonly ends: Uint32Array;
}

/**
 * Groups come in the order of their ids, in which the numbers of records play no part; in a group, records keep the
 * order that they are given in. Records without a group are left out, and those of weight 0.
 */
export function* recordsByGroup(
  records: NumberedKeys,
  groups: Uint8Array,
  weights: Float32Array | undefined,
): Steps<GroupedRecords> {
  const { numbers, counts: ends } = yield* numberedGroups(groups, weights);
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
  /** For each record, the number of its group; −1 if the record is excluded. */
  readonly numbers: Int32Array;
  /** Records of each group. */
  readonly counts: Uint32Array;
}

function* numberedGroups(groups: Uint8Array, weights: Float32Array | undefined): Steps<NumberedGroups> {
  const ids = new Uint32Array(groups.buffer, groups.byteOffset, groups.length / 4);
  const sorted = yield* sortedById(ids);
  const records = ids.length / 2;
  const numbers = new Int32Array(records);
  const counts = new Uint32Array(records);
  let known = 0;
  // `NO_GROUP` has all bits.
  let [low, high] = [MOST_U32, MOST_U32];
  yield* inPieces(records, (from, to) => {
    for (let at = from; at < to; at++) {
      const record = sorted[2 * at]!;
      const [itsLow, itsHigh] = [ids[2 * record]!, ids[2 * record + 1]!];
      numbers[record] = -1;
      if ((itsLow === MOST_U32 && itsHigh === MOST_U32) || weights?.[record] === 0) continue;
      if (itsLow !== low || itsHigh !== high) {
        known++;
        low = itsLow;
        high = itsHigh;
      }
      numbers[record] = known - 1;
      counts[known - 1]! += 1;
    }
  });
  return { numbers, counts: counts.subarray(0, known) };
}

/** Numbers of records. */
function* sortedById(ids: Uint32Array): Steps<NumberedKeys> {
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
  return sorted;
}
