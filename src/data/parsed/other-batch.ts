/** A batch of other records than a batch of its block has: put together from theirs. */
import { LIMITS } from '../../base/limits.ts';
import type { Batch } from '../../model/model.ts';
import { sparseKernel } from '../kernels/sparse-kernel.ts';
import { countBelow, plannedBatch, type SparseBlock } from './sparse-block.ts';
import { plainDistinct } from './sparse-block-builder.ts';

/** Where a good record is in its block. */
interface Place {
  /** Among the good ones. */
  readonly good: number;
  readonly input: Batch['sparse'][number];
  /** Of its batch. */
  readonly record: number;
}

/** The good ones of the records at these indexed positions, in their order. */
export function pickedBatch(block: SparseBlock, positions: Iterable<number>): Batch {
  const places = [...placesOf(block, positions)];
  const count = places.reduce((sum, { input, record }) => sum + input.offsets[record + 1]! - input.offsets[record]!, 0);
  const offsets = new Uint32Array(places.length + 1);
  const ids = new Uint32Array(2 * count);
  const values = block.values && new Float32Array(count);
  let to = 0;
  places.forEach(({ input, record }, at) => {
    const [from, end] = [input.offsets[record]!, input.offsets[record + 1]!];
    const halves = new Uint32Array(input.ids.buffer, input.ids.byteOffset, 2 * input.count);
    if (input.values !== undefined) values?.set(input.values.subarray(from, end), to);
    for (let feature = from; feature < end; feature++) {
      const row = input.rows[feature]!;
      ids[2 * to] = halves[2 * row]!;
      ids[2 * to + 1] = halves[2 * row + 1]!;
      to += 1;
    }
    offsets[at + 1] = to;
  });
  const bytes = new Uint8Array(ids.buffer);
  const found = count <= LIMITS.kernelIds ? sparseKernel().distinctOf([bytes], count) : plainDistinct([bytes], count);
  // The kernel's arrays are valid until its next call.
  const input = { offsets, rows: found.places.slice(), values, ids: found.ids.slice(), count: found.distinct };
  return { ...recordsAt(block, places), sparse: [input], dense: [] };
}

function* placesOf(block: SparseBlock, positions: Iterable<number>): Generator<Place> {
  const { badPositions, batchSize } = block;
  let batch = -1;
  let input: Batch['sparse'][number] | undefined;
  let before = 0;
  for (const position of positions) {
    const bad = countBelow(badPositions, position);
    if (badPositions[bad] === position) continue;
    const number = Math.floor(position / batchSize);
    if (number !== batch) {
      batch = number;
      input = plannedBatch(block, number).sparse[0]!;
      before = number * batchSize - countBelow(badPositions, number * batchSize);
    }
    const good = position - bad;
    yield { good, input: input!, record: good - before };
  }
}

function recordsAt(
  { labels, weights, groups }: SparseBlock,
  places: readonly Place[],
): Pick<Batch, 'records' | 'labels' | 'weights' | 'groups'> {
  const pickedGroups = groups && new Uint8Array(8 * places.length);
  places.forEach(({ good }, at) => {
    pickedGroups?.set(groups!.subarray(8 * good, 8 * good + 8), 8 * at);
  });
  return {
    records: places.length,
    labels: Float32Array.from(places, ({ good }) => labels[good]!),
    weights: weights && Float32Array.from(places, ({ good }) => weights[good]!),
    groups: pickedGroups,
  };
}
