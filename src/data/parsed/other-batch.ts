/** A batch that does not begin and end where the batches of its block do: put together from theirs. */

import { createIdDictionary } from '../../base/id-dictionary.ts';
import type { Batch } from '../../model/model.ts';
import { goodBefore, goodRecords, plannedBatch, type SparseBlock } from './sparse-block.ts';

export function otherBatch(block: SparseBlock, from: number, to: number): Batch {
  const [first, last] = [goodBefore(block, from), goodBefore(block, to)];
  const offsets = new Uint32Array(last - first + 1);
  const dictionary = createIdDictionary();
  const rows: number[] = [];
  const values: number[] = [];
  let record = 0;
  for (let at = from; at < to; ) {
    const number = Math.floor(at / block.batchSize);
    const end = Math.min(to, (number + 1) * block.batchSize);
    const input = plannedBatch(block, number).sparse[0]!;
    const before = goodBefore(block, number * block.batchSize);
    const halves = new Uint32Array(input.ids.buffer, input.ids.byteOffset, 2 * input.count);
    const [low, high] = [
      input.offsets[goodBefore(block, at) - before]!,
      input.offsets[goodBefore(block, end) - before]!,
    ];
    const base = rows.length - low;
    for (let good = goodBefore(block, at) - before; good < goodBefore(block, end) - before; good++) {
      offsets[++record] = base + input.offsets[good + 1]!;
    }
    for (let feature = low; feature < high; feature++) {
      const row = input.rows[feature]!;
      rows.push(dictionary.indexOf(halves[2 * row]!, halves[2 * row + 1]!));
      if (input.values !== undefined) values.push(input.values[feature]!);
    }
    at = end;
  }
  const count = dictionary.size;
  const input = {
    offsets,
    rows: Uint32Array.from(rows),
    values: block.values && Float32Array.from(values),
    ids: new Uint8Array(dictionary.halves.slice(0, 2 * count).buffer),
    count,
  };
  return { ...goodRecords(block, first, last), sparse: [input], dense: [] };
}
