/** Rules of packed files: what is corrupt is named, and never read. */
import type { Mutation } from './mutation.ts';

const CORRUPT = ['test/data/bytes/packings/recordio/corrupt.test.ts'];
const RECORDIO = 'src/data/bytes/packings/recordio';

export const PACKINGS: readonly Mutation[] = [
  {
    rule: 'the check sum of a chunk is checked',
    file: `${RECORDIO}/body.ts`,
    find: 'return found === expected ? undefined :',
    replace: 'return found >= 0 ? undefined :',
    tests: CORRUPT,
  },
  {
    rule: 'a chunk has as many records as its header says',
    file: `${RECORDIO}/body.ts`,
    find: 'return records === header.records ? body :',
    replace: 'return records <= header.records ? body :',
    tests: CORRUPT,
  },
  {
    rule: 'the size of a chunk is bounded',
    file: `${RECORDIO}/header.ts`,
    find: 'if (size > LIMITS.recordioChunkBytes) {',
    replace: 'if (size < 0) {',
    tests: CORRUPT,
  },
  {
    rule: 'what follows damage counts only when its check sum is right',
    file: `${RECORDIO}/scan.ts`,
    find: 'if (isPlausible(header) && (await isWhole(input, header))) return;',
    replace: 'if (isPlausible(header)) return;',
    tests: CORRUPT,
  },
  {
    rule: 'a corrupt chunk ends where another header proves its size',
    file: `${RECORDIO}/scan.ts`,
    find: '...((await endsAt(input, header)) ? { bytes: end } : {})',
    replace: '...((await endsAt(input, header)) ? {} : {})',
    tests: CORRUPT,
  },
  {
    rule: 'a file that was unpacked without its corrupt chunks is none for a job that refuses them',
    file: 'src/data/bytes/content.ts',
    find: "facts.modifiedMs, place.corruptChunks ?? 'fail']",
    replace: 'facts.modifiedMs]',
    tests: CORRUPT,
  },
  {
    rule: 'other bytes after a zstd frame are refused',
    file: 'src/data/bytes/packings/zstd/decompress.ts',
    find: 'if (first.length === 0) return undefined;',
    replace: 'if (!isFrame(first)) return undefined;',
    tests: ['test/data/bytes/packings/zstd/zstd.test.ts'],
  },
  {
    rule: 'few files are open at a time',
    file: 'src/data/open-files.ts',
    find: 'if (this.open.size <= LIMITS.openDataFiles) break;',
    replace: 'if (this.open.size > 0) break;',
    tests: ['test/data/task-reader.test.ts'],
  },
];
