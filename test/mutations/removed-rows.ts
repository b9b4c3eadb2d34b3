/** Rules of rows that are removed from a shard, and of their `seen` (docs/decisions/0168). */
import type { Mutation } from './mutation.ts';

const KERNELS = 'src/tensor/kernels/assembly';
const tests = ['test/tensor/removed-rows.test.ts'];
const MODEL = ['test/tensor/parameters-model.test.ts'];

export const REMOVED_ROWS: readonly Mutation[] = [
  {
    rule: 'where a pull has found a row counts only while the row there has the same id',
    file: `${KERNELS}/rows.ts`,
    find: ' && load<u64>(known) == id) continue;',
    replace: ') continue;',
    tests,
  },
  {
    rule: 'where a pull has found a row counts only while the row there is not free',
    file: `${KERNELS}/rows.ts`,
    find: 'known != ABSENT && load<u32>(known + seen) != FREED && load<u64>(known) == id',
    replace: 'known != ABSENT && load<u64>(known) == id',
    tests,
  },
  {
    rule: 'an index that grows leaves removed rows out',
    file: `${KERNELS}/table-growth.ts`,
    find: '      if (seen != 0 && load<u32>(row + seen) == FREED) continue;\n',
    replace: '',
    tests,
  },
  {
    rule: 'entries behind a removed one are still found',
    file: `${KERNELS}/removal.ts`,
    find: '    if (((position - first) & mask) < ((position - gap) & mask)) continue;\n',
    replace: '    if (first == position || first != position) break;\n',
    tests,
  },
  {
    rule: 'no entry moves before the place where its search begins',
    file: `${KERNELS}/removal.ts`,
    find: '    if (((position - first) & mask) < ((position - gap) & mask)) continue;\n',
    replace: '',
    tests,
  },
  {
    rule: 'the memory of removed rows goes to new rows',
    file: `${KERNELS}/table-growth.ts`,
    find: '    if (freed != 0) return freed;\n',
    replace: '',
    tests,
  },
  {
    rule: 'every row that a push applies gets the `seen` of its shard',
    file: 'src/tensor/push.ts',
    find: '    if (table.hasSeen) table.markSeen(',
    replace: '    if (table.hasSeen && part > 0) table.markSeen(',
    tests: MODEL,
  },
  {
    rule: 'rows that a push has just made are among those that get a `seen`',
    file: `${KERNELS}/rows.ts`,
    find: '          store<u32>(rows + (i << 2), row);\n',
    replace:
      '          if (seenOffset(table) == 0) store<u32>(rows + (i << 2), row);\n          else store<u32>(rows + (i << 2), SKIPPED);\n',
    tests: MODEL,
  },
  {
    rule: 'ids of another shard are refused before any row is removed',
    file: 'src/tensor/sparse-table.ts',
    find: '      this.checkShards(at, some.length, actions);\n    }\n    this.#willRemove',
    replace: '    }\n    this.#willRemove',
    tests,
  },
  {
    rule: 'the index leaves out what was removed because it is unseen',
    file: `${KERNELS}/removal.ts`,
    find: '  if (removed != 0) placeAgain(part);\n',
    replace: '',
    tests,
  },
  {
    rule: 'a list of ids goes on in the segment where its last piece ended',
    file: `${KERNELS}/table.ts`,
    find: '    while (from < segment || from >= segment + load<u32>(segment, S_BYTES)) segment = load<u32>(segment, S_NEXT);\n',
    replace: '',
    tests: ['test/tensor/export.test.ts', 'test/tensor/removed-rows.test.ts'],
  },
];
