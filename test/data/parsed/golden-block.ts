/** The block of docs/data-cache.md: what text, and from which files. */
import { parseText } from '../../../src/data/formats/libsvm/text.ts';
import { sparseKernel } from '../../../src/data/kernels/sparse-kernel.ts';
import type { KeptBlock } from '../../../src/data/parsed/layout.ts';
import { SparseBlockBuilder } from '../../../src/data/parsed/sparse-block-builder.ts';

export const GOLDEN_KEY = Buffer.from(Array.from({ length: 32 }, (_, at) => at));

export const GOLDEN_TEXT = `+1 7:1 3:0.5
-1 3:1

1 x
0 18446744073709551615:1 7:-2e-1
`;

/** Of libffm, with a weight and with a group, each in one record. */
export const WEIGHTED_TEXT = '1:0.25 3:7:1\n0 qid:258 4095:7:1 258:7:1\n';

/** Of `text`, as lines from 1 on of `a.txt`, in batches of two. */
export function goldenBlock(text = GOLDEN_TEXT, hasFields = false): KeptBlock {
  const bytes = Buffer.from(text);
  const builder = new SparseBlockBuilder(
    { records: 4, features: bytes.length, batchSize: 2, hasFields },
    sparseKernel(),
  );
  builder.startPart('a.txt');
  parseText(
    { file: 'a.txt', bytes, offset: 0, firstLine: 1, hasFields },
    { task: 'binary', mayHaveWeight: true },
    builder,
  );
  return {
    block: builder.finish(),
    sources: [{ bytes: bytes.length, modifiedMs: 1795600000000.25, changedMs: 1795600000001.5, inode: 4711 }],
  };
}
