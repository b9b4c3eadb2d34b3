/** A batch that does not begin and end where the batches of its block do: put together from theirs. */
import type { SparseBatch } from '../../model/model.ts';
import { createFeatureDictionary } from '../feature-dictionary.ts';
import { goodBefore, plannedBatch, type SparseBlock } from './sparse-block.ts';

export function otherBatch(block: SparseBlock, from: number, to: number): SparseBatch {
  const [first, last] = [goodBefore(block, from), goodBefore(block, to)];
  const offsets = new Uint32Array(last - first + 1);
  const dictionary = createFeatureDictionary();
  const columns: number[] = [];
  const values: number[] = [];
  let record = 0;
  for (let at = from; at < to; ) {
    const number = Math.floor(at / block.batchSize);
    const end = Math.min(to, (number + 1) * block.batchSize);
    const batch = plannedBatch(block, number);
    const before = goodBefore(block, number * block.batchSize);
    const halves = new Uint32Array(batch.ids.buffer, batch.ids.byteOffset, 2 * batch.distinct);
    const [low, high] = [
      batch.offsets[goodBefore(block, at) - before]!,
      batch.offsets[goodBefore(block, end) - before]!,
    ];
    const base = columns.length - low;
    for (let good = goodBefore(block, at) - before; good < goodBefore(block, end) - before; good++) {
      offsets[++record] = base + batch.offsets[good + 1]!;
    }
    for (let feature = low; feature < high; feature++) {
      const column = batch.columns[feature]!;
      columns.push(dictionary.indexOf(halves[2 * column]!, halves[2 * column + 1]!));
      if (batch.values !== undefined) values.push(batch.values[feature]!);
    }
    at = end;
  }
  const distinct = dictionary.size;
  return {
    records: last - first,
    offsets,
    columns: Uint32Array.from(columns),
    values: block.values && Float32Array.from(values),
    ids: new Uint8Array(dictionary.halves.slice(0, 2 * distinct).buffer),
    distinct,
    labels: block.labels.subarray(first, last),
  };
}
