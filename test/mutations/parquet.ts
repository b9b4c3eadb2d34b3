/** Rules of Parquet files: nothing that they say is believed before it is checked. */
import type { Mutation } from './mutation.ts';

const DAMAGED = ['test/data/formats/parquet/damaged.test.ts'];
const PARQUET = 'src/data/formats/parquet';

export const PARQUET_FILES: readonly Mutation[] = [
  {
    rule: 'a list of the metadata is no longer than what is left',
    file: `${PARQUET}/thrift.ts`,
    find: 'if (size > this.#bytes.length - this.at) throw',
    replace: 'if (size < 0) throw',
    tests: DAMAGED,
  },
  {
    rule: 'a footer is not read before its size is bounded',
    file: `${PARQUET}/footer.ts`,
    find: 'if (length > LIMITS.parquetFooterBytes) {',
    replace: 'if (length < 0) {',
    tests: DAMAGED,
  },
  {
    rule: 'the check sum of a page is checked',
    file: `${PARQUET}/pages.ts`,
    find: 'crc32(page.body) !== page.crc >>> 0',
    replace: 'page.crc === undefined',
    tests: DAMAGED,
  },
  {
    rule: 'nothing is decompressed before the size of all pages is bounded',
    file: `${PARQUET}/pages.ts`,
    find: 'if (size > LIMITS.parquetChunkBytes) {',
    replace: 'if (size < 0) {',
    tests: DAMAGED,
  },
  {
    rule: 'no index goes beyond the dictionary',
    file: `${PARQUET}/column.ts`,
    find: 'if (largest >= known) throw',
    replace: 'if (largest < 0) throw',
    tests: DAMAGED,
  },
  {
    rule: 'texts with shared beginnings are bounded before they are made',
    file: `${PARQUET}/spans.ts`,
    find: 'if (needed > LIMITS.parquetChunkBytes) {',
    replace: 'if (needed < 0) {',
    tests: DAMAGED,
  },
  {
    rule: 'the Snappy kernel makes no more than the header of the page says',
    file: `${PARQUET}/codecs.ts`,
    find: 'if (said !== size) throw',
    replace: 'if (said < 0) throw',
    tests: DAMAGED,
  },
  {
    rule: 'what was not in the dictionary of a column is found by its index, too',
    file: `${PARQUET}/column.ts`,
    find: 'this.#indexes[this.#elements + at] = first + at;',
    replace: 'this.#indexes[this.#elements + at] = at;',
    tests: ['test/data/formats/parquet/values.test.ts'],
  },
  {
    rule: 'columns of a Parquet file in the cache are published when the file is as it was',
    file: 'src/data/formats/columns/write-file.ts',
    find: 'await beforePublished();',
    replace: '',
    tests: ['test/data/formats/parquet/cache.test.ts'],
  },
  {
    rule: 'a process makes the columns of a Parquet file once at a time',
    file: 'src/data/formats/parquet/cached-columns.ts',
    find: 'underWay.get(cached) ?? make()',
    replace: 'make()',
    tests: ['test/data/formats/parquet/cache.test.ts'],
  },
  {
    rule: 'ids are made of the texts where they were copied to',
    file: 'src/data/kernels/value-ids.ts',
    find: 'kernels.hashSpans(textsAt - low,',
    replace: 'kernels.hashSpans(textsAt,',
    tests: ['test/data/kernels/value-ids.test.ts'],
  },
];
