/** The records of a task in another order, for a pass that shuffles them. Messages keep their places in the files. */
import { assert } from '../base/assert.ts';
import type { TaskRecords } from './source.ts';

/** Places that a message names; of more it says how many. */
const NAMED_PLACES = 8;

/** `order`: the indexed position of each record, a permutation. */
export function reordered(records: TaskRecords, order: Uint32Array): TaskRecords {
  assert(order.length === records.records, 'the order has each record once');
  const bad = new Set<number>();
  for (let at = 0; at < order.length && bad.size < records.bad.length; at++) {
    if (records.goodBefore(at + 1) === records.goodBefore(at)) bad.add(at);
  }
  const goodBefore = new Uint32Array(order.length + 1);
  order.forEach((position, at) => {
    goodBefore[at + 1] = goodBefore[at]! + (bad.has(position) ? 0 : 1);
  });
  return {
    ...records,
    batch: (from, to) => records.pick(order.subarray(from, to)),
    pick: (positions) => records.pick(positions.map((position) => order[position]!)),
    goodBefore: (position) => goodBefore[position]!,
    describe(from, to) {
      const positions = order.slice(from, to).sort();
      const named = Array.from(positions.subarray(0, NAMED_PLACES), (position) =>
        records.describe(position, position + 1),
      );
      const more = positions.length - named.length;
      return `${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
    },
  };
}
