/** The block of docs/data-cache.md: what text, and from which files. */
import { sparseKernel } from '../../../src/data/kernels/sparse-kernel.ts';
import { BlockBuilder } from '../../../src/data/parsed/block-builder.ts';
import type { KeptBlock } from '../../../src/data/parsed/layout.ts';
import type { ReadFeatures } from '../../../src/data/piece.ts';
import { sparseBlock } from '../formats/libsvm/sparse-text.ts';

export const GOLDEN_KEY = Buffer.from(Array.from({ length: 32 }, (_, at) => at));

export const GOLDEN_TEXT = `+1 7:1 3:0.5
-1 3:1

1 x
0 18446744073709551615:1 7:-2e-1
`;

/** Of libffm, with a weight and with a group, each in one record. */
export const WEIGHTED_TEXT = '1:0.25 3:7:1\n0 qid:258 4095:7:1 258:7:1\n';

const SOURCE = { bytes: 0, modifiedMs: 1795600000000.25, changedMs: 1795600000001.5, inode: 4711 };

/** Of `text`, as lines from 1 on of `a.txt`, in batches of two. */
export function goldenBlock(text = GOLDEN_TEXT, hasFields = false): KeptBlock {
  const labels = { task: 'binary', mayHaveWeight: true } as const;
  const block = sparseBlock({ file: 'a.txt', text, labels, batchSize: 2, hasFields });
  return { block, sources: [{ ...SOURCE, bytes: text.length }] };
}

/** Of three records, the second one bad, in batches of two: two sparse inputs, and a dense one of two floats. */
export function goldenInputs(): KeptBlock {
  const size = { records: 3, features: [3, 4], batchSize: 2, hasFields: true, width: 2 };
  const builder = new BlockBuilder(size, sparseKernel());
  const add = (line: number, label: number, inputs: readonly ReadFeatures[], rows: readonly number[]): void => {
    const facts = { records: 1, labels: Float32Array.of(label), weights: undefined, groups: undefined };
    builder.add({ ...facts, lines: Uint32Array.of(0) }, line, inputs, Float32Array.from(rows));
  };
  builder.startPart('a.csv');
  add(2, 1, [featuresOf([7n, 9n], [0, 1], [1, 0.5]), featuresOf([9n], [0])], [0.25, -1]);
  builder.bad({ file: 'a.csv', line: 3, byteOffset: 20, reason: 'it has 2 fields, not 4' });
  add(4, 0, [featuresOf([9n], [0], [2]), featuresOf([3n, 8n, 3n], [0, 1, 1])], [3, 4]);
  return { block: builder.finish(), sources: [{ ...SOURCE, bytes: 40 }] };
}

/** Of one record. */
const featuresOf = (ids: readonly bigint[], fields: readonly number[], values?: readonly number[]): ReadFeatures => ({
  features: ids.length,
  ends: Uint32Array.of(ids.length),
  ids: new Uint8Array(BigUint64Array.from(ids).buffer),
  values: values && Float32Array.from(values),
  fields: Uint16Array.from(fields),
});
