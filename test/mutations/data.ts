/** Rules of data that is kept after it was parsed. */
import type { Mutation } from './mutation.ts';

const CACHE = ['test/data/parsed'];

export const DATA: readonly Mutation[] = [
  {
    rule: 'a block counts only while the data files are those that it was made from',
    file: 'src/data/parsed/cache.ts',
    find: 'if (kept.block.records !== records || !areSame(kept.sources, sources)) return undefined;',
    replace: 'if (kept.block.records !== records) return undefined;',
    tests: CACHE,
  },
  {
    rule: 'a block in memory counts only while the data files are those that it was made from',
    file: 'src/data/parsed/cache.ts',
    find: 'if (inMemory !== undefined && areSame(inMemory.sources, sources)) return inMemory.block;',
    replace: 'if (inMemory !== undefined) return inMemory.block;',
    tests: CACHE,
  },
  {
    rule: 'a time that was set back does not hide a change',
    file: 'src/data/parsed/cache.ts',
    find: ' && a.changedMs === b.changedMs',
    replace: '',
    tests: CACHE,
  },
  {
    rule: 'a block is made only of files that are still what was read',
    file: 'src/data/task-reader.ts',
    find: ' && (then === undefined || isSameFile(one, then))',
    replace: ' && then !== null',
    tests: CACHE,
  },
  {
    rule: 'a damaged block is not believed',
    file: 'src/data/parsed/layout.ts',
    find: "  check(file.readUInt32LE(HEADER.crc32) === crc32(file.subarray(HEADER.fileBytes)), 'its check sum differs');\n",
    replace: '  crc32(file);\n',
    tests: CACHE,
  },
  {
    rule: 'a block of another key is not believed',
    file: 'src/data/parsed/layout.ts',
    find: "  check(file.subarray(HEADER.key, HEADER.keyEnd).equals(key), 'it is a block of other data');\n",
    replace: '  check(key.length === 32, "");\n',
    tests: CACHE,
  },
  {
    rule: 'no kernel or loop gets a block whose features have no id',
    file: 'src/data/parsed/layout.ts',
    find: 'rows[feature]! < count;',
    replace: 'rows[feature]! < 2 ** 32;',
    tests: ['test/data/parsed/layout.test.ts'],
  },
  {
    rule: 'no model gets a weight below 0 from a block',
    file: 'src/data/parsed/layout.ts',
    find: 'check(weights.every(isWeight),',
    replace: 'check(weights.length === count,',
    tests: ['test/data/parsed/layout.test.ts'],
  },
  {
    rule: 'a label has a weight only where the job says so: a line without a label looks the same',
    file: 'src/data/formats/libsvm/parser.ts',
    find: '    if (this.rule.mayHaveWeight !== true) return to;\n',
    replace: '',
    tests: ['test/data/formats/libsvm/parser.test.ts'],
  },
  {
    rule: 'the weight of a bad record is not that of the next one',
    file: 'src/data/parsed/sparse-block-builder.ts',
    find: '    this.#weight = 1;\n',
    replace: '',
    tests: ['test/data/formats/libsvm/parser.test.ts'],
  },
  {
    rule: 'records with weights make another batch plan',
    file: 'src/cluster/job/job-record.ts',
    find: '...(job.data.labelWeights ? { labelWeights: true } : {}),',
    replace: '',
    tests: ['test/cluster/job/job-record.test.ts'],
  },
];
