/**
 * The records of a task, parsed: flat arrays, cut into mini-batches as the trainer wants them. A batch of these is some
 * views; nothing is done for each record or feature.
 */
import { assert } from '../../base/assert.ts';
import type { Batch, SparseInput } from '../../model/model.ts';
import type { BadRecord } from '../bad-record.ts';
import { giveBack } from '../spare-memory.ts';

/** Numbers in `starts` for each batch, and behind the last one. */
export const START = { features: 0, distinct: 1, words: 2 } as const;

export interface ParsedBlock {
  /** Indexed records, bad ones included. */
  readonly records: number;
  /** Records of a batch, by indexed position, bad ones included. */
  readonly batchSize: number;
  /** By batch: good records before it; then all of them. */
  readonly goods: Uint32Array;
  /** Labels of the good records. */
  readonly labels: Float32Array;
  /** Weights of the good records; undefined if all are 1. */
  readonly weights: Float32Array | undefined;
  /** Groups of the good records, u64 little-endian; undefined if none has one. */
  readonly groups: Uint8Array | undefined;
  readonly sparse: readonly BlockFeatures[];
  /** Numbers of the good records; undefined if batches have no dense input. */
  readonly dense: BlockRows | undefined;
  /** Indexed positions of the bad records, ascending. */
  readonly badPositions: Uint32Array;
  /** Positions where a run of lines begins that follow each other, ascending from 0, and its first line. */
  readonly runPositions: Uint32Array;
  readonly runLines: Float64Array;
  readonly notes: BlockNotes;
}

/** A sparse input of all batches. */
export interface BlockFeatures {
  /** By batch: features and distinct ids before it; then all of them. */
  readonly starts: Uint32Array;
  /** For each batch one more than it has good records: where the features of each begin, from 0 in each batch. */
  readonly offsets: Uint32Array;
  /** For each feature: the number of its id among the distinct ids of the batch. */
  readonly rows: Uint32Array;
  /** Undefined when all are 1. */
  readonly values: Float32Array | undefined;
  /** Field of each feature; undefined if no model reads fields. */
  readonly fields?: Uint16Array | undefined;
  /** The distinct ids of each batch in order of first appearance, u64 little-endian. */
  readonly ids: Uint8Array;
}

/** The dense input of all batches. */
export interface BlockRows {
  /** Floats of a record. */
  readonly width: number;
  readonly values: Float32Array;
}

export interface BlockNotes {
  /** The files that the records come from, each with the position of its first record. */
  readonly parts: readonly { readonly file: string; readonly first: number }[];
  readonly bad: readonly BadRecord[];
}

export function plannedBatch(block: ParsedBlock, number: number): Batch {
  const { goods, sparse, dense } = block;
  const [good, goodEnd] = [goods[number]!, goods[number + 1]!];
  return {
    ...goodRecords(block, good, goodEnd),
    sparse: sparse.map((features) => plannedInput(features, number, good, goodEnd)),
    dense:
      dense === undefined
        ? []
        : [{ width: dense.width, values: dense.values.subarray(good * dense.width, goodEnd * dense.width) }],
  };
}

function plannedInput(
  { starts, offsets, rows, values, fields, ids }: BlockFeatures,
  number: number,
  good: number,
  goodEnd: number,
): SparseInput {
  const at = START.words * number;
  const [feature, distinct, featureEnd, distinctEnd] = [starts[at]!, starts[at + 1]!, starts[at + 2]!, starts[at + 3]!];
  return {
    offsets: offsets.subarray(good + number, goodEnd + number + 1),
    rows: rows.subarray(feature, featureEnd),
    values: values?.subarray(feature, featureEnd),
    ...(fields && { fields: fields.subarray(feature, featureEnd) }),
    ids: ids.subarray(8 * distinct, 8 * distinctEnd),
    count: distinctEnd - distinct,
  };
}

/** What a batch has of the good records from one on, up to another, besides their features. */
export const goodRecords = (
  { labels, weights, groups }: ParsedBlock,
  from: number,
  to: number,
): Pick<Batch, 'records' | 'labels' | 'weights' | 'groups'> => ({
  records: to - from,
  labels: labels.subarray(from, to),
  weights: weights?.subarray(from, to),
  groups: groups?.subarray(8 * from, 8 * to),
});

export function goodBefore({ records, badPositions }: ParsedBlock, position: number): number {
  assert(0 <= position && position <= records, `position ${position} is in ${records} records`);
  return position - countBelow(badPositions, position);
}

/** How many of the ascending numbers are below the limit. */
export function countBelow(numbers: Uint32Array, limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The memory of all arrays of the block. Each array has memory of its own, which nothing else uses. */
export function memoryOf(block: ParsedBlock): ArrayBuffer[] {
  const { goods, labels, weights, groups, sparse, dense, badPositions, runPositions, runLines } = block;
  const arrays = [
    ...[goods, labels, weights, groups, dense?.values, badPositions, runPositions, runLines],
    ...sparse.flatMap(({ starts, offsets, rows, values, fields, ids }) => [starts, offsets, rows, values, fields, ids]),
  ];
  return [...new Set(arrays.filter((array) => array !== undefined).map(({ buffer }) => buffer as ArrayBuffer))];
}

/** Other tasks get the memory of the block, which nothing may use from then on. */
export function freeBlock(block: ParsedBlock): void {
  for (const memory of memoryOf(block)) giveBack(memory);
}
