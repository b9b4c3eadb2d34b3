/** Rules of tables that do not give a row to each id, and of their bounds (docs/decisions/0168). */
import type { Mutation } from './mutation.ts';

const KERNEL = 'src/tensor/kernels/assembly/admission.ts';
const TABLE = 'src/tensor/admission/limited-table.ts';
const ROOM = 'src/tensor/admission/room.ts';
const LEAST_RECENT = 'src/tensor/admission/least-recent.ts';
const RULES = 'src/tensor/admission/admission.ts';
const tests = ['test/tensor/admission'];

export const ADMISSION: readonly Mutation[] = [
  {
    rule: 'the update that names a candidate for the last time it needs makes its row',
    file: KERNEL,
    find: 'const isFull = count + 1 >= min;',
    replace: 'const isFull = count >= min;',
    tests,
  },
  {
    rule: 'a candidate that gets its row is no candidate then',
    file: KERNEL,
    find: '      removeRow(part, id);\n      continue;',
    replace: '      continue;',
    tests,
  },
  {
    rule: 'a candidate has the `seen` of the last update that counted it',
    file: KERNEL,
    find: '    } else {\n      candidate = addRow(part, hash, id);',
    replace: '      continue;\n    } else {\n      candidate = addRow(part, hash, id);',
    tests,
  },
  {
    rule: 'the old value of an id without a row is its initial one',
    file: TABLE,
    find: 'this.#heap.kernels.initialOld(',
    replace: 'if (old === 1) this.#heap.kernels.initialOld(',
    tests,
  },
  {
    rule: 'a table whose rows have no `seen` has candidates without',
    file: TABLE,
    find: 'this.#unseenAt ?? seenAt!',
    replace: 'seenAt ?? this.#unseenAt!',
    tests,
  },
  {
    rule: 'an eviction spares the rows that the update names',
    file: TABLE,
    find: '    this.rows.markSeen(ids, count, located, seenAt);\n',
    replace: '',
    tests,
  },
  {
    rule: 'an eviction spares the candidates that the update names',
    file: TABLE,
    find: '    if (candidates !== undefined)\n      this.#heap.kernels.markCandidates(',
    replace: '    if (candidates === null)\n      this.#heap.kernels.markCandidates(',
    tests,
  },
  {
    rule: 'of the new ids those with the highest ids are refused',
    file: TABLE,
    find: '.sort((a, b) => (a.id < b.id ? 1 : -1));',
    replace: '.sort((a, b) => (a.id < b.id ? -1 : 1));',
    tests,
  },
  {
    rule: 'a promoted candidate whose row is refused stays a candidate',
    file: TABLE,
    find: '        bytes[fates + at] = FATE.notAdmitted;',
    replace: '        if (fate !== FATE.promoted) bytes[fates + at] = FATE.notAdmitted;',
    tests,
  },
  {
    rule: 'a new candidate is refused once',
    file: TABLE,
    find: '        if (refused.has(one)) continue;\n',
    replace: '',
    tests,
  },
  {
    rule: 'a promoted candidate counts as one while room is made for candidates',
    file: ROOM,
    find: 'const wanted = held.candidates + named.newCandidates;',
    replace: 'const wanted = held.candidates + named.newCandidates - named.promoted;',
    tests,
  },
  {
    rule: 'a promoted candidate gives its bytes back',
    file: ROOM,
    find: 'evictedCandidates - refusedCandidates - named.promoted;',
    replace: 'evictedCandidates - refusedCandidates;',
    tests,
  },
  {
    rule: 'evictions go down to nine tenths, so that the next update needs none',
    file: RULES,
    find: 'Math.floor((limit * 9) / 10)',
    replace: 'limit',
    tests,
  },
  {
    rule: 'candidates take a quarter of the bytes',
    file: RULES,
    find: 'Math.floor(shardBytes / 4)',
    replace: 'Math.floor(shardBytes / 2)',
    tests,
  },
  {
    rule: 'a repeated push draws the same, and another push does not',
    file: RULES,
    find: 'word: name.push }',
    replace: 'word: 0 }',
    tests,
  },
  {
    rule: 'a task does not draw the same in each pass',
    file: RULES,
    find: '(BigInt(name.pass) << 32n) | BigInt(name.task)',
    replace: 'BigInt(name.task)',
    tests,
  },
  {
    rule: 'of ids with equal `seen` the lowest unsigned ids go first',
    file: LEAST_RECENT,
    find: '(head.id < lowest.id ? head : lowest)',
    replace: '(head.id < lowest.id ? lowest : head)',
    tests,
  },
  {
    rule: 'buckets of `seen` are divided until one has a single value',
    file: LEAST_RECENT,
    find: 'if (shift === 0) return',
    replace: 'if (shift <= 1) return',
    tests,
  },
  {
    rule: 'what is unseen goes from the candidates, too',
    file: 'src/tensor/wasm-parameters.ts',
    find: '    return candidates === undefined ? [this.#sparse[table]!] :',
    replace: '    return candidates !== null ? [this.#sparse[table]!] :',
    tests,
  },
  {
    rule: 'nothing is evicted before there is memory for all new rows',
    file: 'src/tensor/push.ts',
    find: "    if (heap.kernels.reservePending() === 0) throw outOfMemory('the new rows of a push', heap.reservedBytes);\n",
    replace: '',
    tests,
  },
  {
    rule: 'rows of a table that evicts have a `seen`',
    file: 'src/tensor/optimizer.ts',
    find: 'eviction === undefined && maxBytes === undefined',
    replace: 'maxBytes === undefined',
    tests: ['test/cluster/job/look-rules.test.ts'],
  },
  {
    rule: 'the shards share the bound of a table',
    file: 'src/tensor/optimizer.ts',
    find: 'Math.floor(maxBytes / shards!)',
    replace: 'maxBytes',
    tests: ['test/roles/master/check-tables.test.ts'],
  },
  {
    rule: 'a bound has room for some rows in each shard',
    file: 'src/roles/master/check-tables.ts',
    find: 'if (shardBytes < LEAST_ROWS * bytesOfRow)',
    replace: 'if (shardBytes < bytesOfRow)',
    tests: ['test/roles/master/check-tables.test.ts', 'test/roles/master/publish-job.test.ts'],
  },
  {
    rule: 'bounds fit into the fewest pservers with all copies',
    file: 'src/roles/master/check-tables.ts',
    find: 'const needed = (memoryBytes * replicas) / minPservers;',
    replace: 'const needed = memoryBytes / minPservers;',
    tests: ['test/roles/master/check-tables.test.ts'],
  },
];
