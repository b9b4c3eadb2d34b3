/** Files with changes only: what they have, what they build on, and which files may go. */
import type { Mutation } from './mutation.ts';

const CHAINS = ['test/roles/pserver/files/deltas.test.ts'];
const PARENTS = ['test/roles/pserver/files/delta-parents.test.ts'];
const LOADING = ['test/checkpoint/load/load-changes.test.ts'];
const RETENTION = ['test/checkpoint/registry/chains.test.ts'];

export const DELTAS: readonly Mutation[] = [
  {
    rule: 'a delta has all rows that were seen since its parent',
    file: 'src/checkpoint/file/capture.ts',
    find: 'parent.seq + 1 - moment.looks.base',
    replace: 'parent.seq + 2 - moment.looks.base',
    tests: LOADING,
  },
  {
    rule: 'a delta has no rows that were seen before',
    file: 'src/checkpoint/file/capture.ts',
    find: 'Math.max(0, parent.seq + 1 - moment.looks.base)',
    replace: 'Math.max(0, parent.seq * 0)',
    tests: LOADING,
  },
  {
    rule: 'an id that came again is not gone',
    file: 'src/checkpoint/file/capture.ts',
    find: '(one.name === name ? without(left, tables[place]!.ids) : left)',
    replace: '(one.name === name && place < 0 ? without(left, tables[place]!.ids) : left)',
    tests: CHAINS,
  },
  {
    rule: 'a delta has the blocks of shards that have changed',
    file: 'src/checkpoint/file/capture.ts',
    find: 'moment.seq === parent.seq ? []',
    replace: 'moment.seq >= parent.seq ? []',
    tests: CHAINS,
  },
  {
    rule: 'the view of a cut has the rows as they were seen then',
    file: 'src/roles/pserver/modes/rounds/round-view.ts',
    find: 'rowsSeen(withKeptRows(current, places, removed.get(shard) ?? []), least)',
    replace: 'current',
    tests: CHAINS,
  },
  {
    rule: 'a parent is of the same epoch',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: 'parent?.epoch !== epoch || ',
    replace: 'parent === undefined || ',
    tests: PARENTS,
  },
  {
    rule: 'a file from which on not all removals are recorded becomes no parent',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: 'if (mark >= history.completeFrom) history.captured',
    replace: 'history.captured',
    tests: PARENTS,
  },
  {
    rule: 'a shard that was put in from elsewhere has no parent',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: 'replacing: (shard) => this.#forget(shard),',
    replace: 'replacing() {},',
    tests: PARENTS,
  },
  {
    rule: 'shards that were put back to a cut have no parent',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: '    for (const shard of this.#history.keys()) this.#forget(shard);\n',
    replace: '',
    tests: PARENTS,
  },
  {
    rule: 'what goes between the capture of a file and its publication is gone for the next one',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: 'history.removed.filter(({ number }) => number >= captured.mark)',
    replace: 'history.removed.slice(0, Math.max(0, -captured.mark))',
    tests: PARENTS,
  },
  {
    rule: 'what goes after the view of a cut has begun is not gone in its file',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: ' && one.number < mark',
    replace: ' && one.number < Infinity * mark',
    tests: PARENTS,
  },
  {
    rule: 'a file that was refused becomes no parent',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: 'for (const history of this.#history.values()) history.captured = undefined;',
    replace: '',
    tests: PARENTS,
  },
  {
    rule: 'a shard of which too many ids are gone is whole in the next file',
    file: 'src/roles/pserver/files/delta-parents.ts',
    find: 'if (history.removedIds > Math.max(this.#fewestKept, rows / 4)) this.#forget(shard);',
    replace: '',
    tests: PARENTS,
  },
  {
    rule: 'a delta is loaded on what it builds on, and on nothing else',
    file: 'src/checkpoint/load/load-changes.ts',
    find: 'parent === undefined || parent.uuid !== state.uuid || parent.seq !== state.seq',
    replace: 'parent === undefined',
    tests: LOADING,
  },
  {
    rule: 'what was seen before the base of a delta counts as seen there',
    file: 'src/checkpoint/load/load-changes.ts',
    find: 'if (now.base > state.base) into.lowerSeen(shard, now.base - state.base);',
    replace: '',
    tests: CHAINS,
  },
  {
    rule: 'what a delta has of an id replaces what it was: row or candidate',
    file: 'src/checkpoint/load/load-changes.ts',
    find: '      into.removeIds(shard, tableOf[table]!, rows.ids);\n',
    replace: '',
    tests: CHAINS,
  },
  {
    rule: 'ids that are gone go when a delta is loaded',
    file: 'src/checkpoint/load/load-changes.ts',
    find: 'if (gone.length > 0) asDamage',
    replace: 'if (gone.length < 0) asDamage',
    tests: CHAINS,
  },
  {
    rule: 'changes alone are not taken for a whole shard',
    file: 'src/checkpoint/load/load.ts',
    find: 'if (partly !== undefined)\n',
    replace: 'if (partly !== undefined && positions.length < 0)\n',
    tests: LOADING,
  },
  {
    rule: 'a file that stays holds those that it builds on',
    file: 'src/checkpoint/registry/retention.ts',
    find: ' && !held.has(generation.uuid)',
    replace: '',
    tests: RETENTION,
  },
  {
    rule: 'only files that are no delta count as kept',
    file: 'src/checkpoint/registry/retention.ts',
    find: 'if (!isDelta(generation)) bases += 1;',
    replace: 'bases += 1;',
    tests: RETENTION,
  },
];
