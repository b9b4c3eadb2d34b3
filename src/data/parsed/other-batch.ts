/** A batch of other records than a batch of its block has: put together from theirs. */
import { LIMITS } from '../../base/limits.ts';
import type { Batch, DenseInput, SparseInput } from '../../model/model.ts';
import { sparseKernel } from '../kernels/sparse-kernel.ts';
import { type BlockFeatures, type BlockRows, countBelow, type ParsedBlock, START } from './block.ts';
import { plainDistinct } from './input-builder.ts';

/** For each good record that is picked: its number among the good ones, and the batch it is in. */
interface Picked {
  readonly goods: Uint32Array;
  readonly batches: Uint32Array;
}

/** The good ones of the records at these indexed positions, in their order. */
export function pickedBatch(block: ParsedBlock, positions: ArrayLike<number>): Batch {
  const picked = goodOnes(block, positions);
  return {
    ...recordsAt(block, picked.goods),
    sparse: block.sparse.map((features) => pickedInput(features, picked)),
    dense: block.dense === undefined ? [] : [pickedRows(block.dense, picked.goods)],
  };
}

function pickedInput(features: BlockFeatures, { goods, batches }: Picked): SparseInput {
  const { starts, offsets, rows, values, fields } = features;
  const ends = new Uint32Array(goods.length + 1);
  for (let at = 0; at < goods.length; at++) {
    // The offsets of a batch are one more than its good records.
    const place = goods[at]! + batches[at]!;
    ends[at + 1] = ends[at]! + offsets[place + 1]! - offsets[place]!;
  }
  const count = ends[goods.length]!;
  const ids = new Uint32Array(2 * count);
  const pickedValues = values && new Float32Array(count);
  const pickedFields = fields && new Uint16Array(count);
  const halves = new Uint32Array(features.ids.buffer, features.ids.byteOffset, features.ids.byteLength / 4);
  for (let at = 0; at < goods.length; at++) {
    const batch = START.words * batches[at]!;
    const first = starts[batch + START.features]! + offsets[goods[at]! + batches[at]!]!;
    const distinct = starts[batch + START.distinct]!;
    const from = ends[at]!;
    const end = ends[at + 1]!;
    for (let feature = 0; from + feature < end; feature++) {
      const id = 2 * (distinct + rows[first + feature]!);
      ids[2 * (from + feature)] = halves[id]!;
      ids[2 * (from + feature) + 1] = halves[id + 1]!;
      if (pickedValues !== undefined) pickedValues[from + feature] = values![first + feature]!;
      if (pickedFields !== undefined) pickedFields[from + feature] = fields![first + feature]!;
    }
  }
  const bytes = new Uint8Array(ids.buffer);
  const found = count <= LIMITS.kernelIds ? sparseKernel().distinctOf([bytes], count) : plainDistinct([bytes], count);
  return {
    offsets: ends,
    // The kernel's arrays are valid until its next call.
    rows: found.places.slice(),
    values: pickedValues,
    ...(pickedFields && { fields: pickedFields }),
    ids: found.ids.slice(),
    count: found.distinct,
  };
}

function pickedRows({ width, values }: BlockRows, goods: Uint32Array): DenseInput {
  const picked = new Float32Array(goods.length * width);
  goods.forEach((good, at) => {
    picked.set(values.subarray(good * width, (good + 1) * width), at * width);
  });
  return { width, values: picked };
}

function goodOnes({ badPositions, batchSize }: ParsedBlock, positions: ArrayLike<number>): Picked {
  const goods = new Uint32Array(positions.length);
  const batches = new Uint32Array(positions.length);
  let count = 0;
  for (let at = 0; at < positions.length; at++) {
    const position = positions[at]!;
    const bad = countBelow(badPositions, position);
    if (badPositions[bad] === position) continue;
    goods[count] = position - bad;
    batches[count++] = Math.floor(position / batchSize);
  }
  return { goods: goods.subarray(0, count), batches: batches.subarray(0, count) };
}

function recordsAt(
  { labels, weights, groups }: ParsedBlock,
  goods: Uint32Array,
): Pick<Batch, 'records' | 'labels' | 'weights' | 'groups'> {
  const pickedGroups = groups && new Uint8Array(8 * goods.length);
  goods.forEach((good, at) => {
    pickedGroups?.set(groups!.subarray(8 * good, 8 * good + 8), 8 * at);
  });
  return {
    records: goods.length,
    labels: Float32Array.from(goods, (good) => labels[good]!),
    weights: weights && Float32Array.from(goods, (good) => weights[good]!),
    groups: pickedGroups,
  };
}
