/** Rules of what is kept between a pull and its push: where rows are, and gradients. */
import type { Mutation } from './mutation.ts';

const TESTS = ['test/tensor/pulled-rows.test.ts'];
const SUM_TESTS = ['test/tensor/lane-fold.test.ts'];

export const PULLED_ROWS: readonly Mutation[] = [
  {
    rule: 'rows that a pull has found are forgotten when a shard is dropped',
    file: 'src/tensor/wasm-parameters.ts',
    find: "    assert(this.#present.delete(shard), 'the shard that is dropped is present');\n    this.#pulled?.forget();\n",
    replace: "    assert(this.#present.delete(shard), 'the shard that is dropped is present');\n",
    tests: TESTS,
  },
  {
    rule: 'where the rows of a sum are is forgotten when a shard is dropped',
    file: 'src/tensor/wasm-parameters.ts',
    find: '    this.#sum?.forgetRows();\n',
    replace: '',
    tests: SUM_TESTS,
  },
  {
    rule: 'rows of a sum that no pull has found are looked for',
    file: 'src/tensor/lane-fold.ts',
    find: '    this.#heap.bytes.fill(0, found, places);\n',
    replace: '',
    tests: SUM_TESTS,
  },
  {
    rule: 'the kernel memory of a sum is given back, even when its round is thrown away',
    file: 'src/tensor/wasm-parameters.ts',
    find: '      sum.free();\n',
    replace: '',
    tests: SUM_TESTS,
  },
  {
    rule: 'the memory of a lane that was cut into parts is not used again',
    file: 'src/roles/pserver/modes/rounds/group-rounds.ts',
    find: '  memory: undefined,\n',
    replace: '',
    tests: ['test/roles/pserver/modes/rounds/lane-memory.test.ts'],
  },
  {
    rule: 'rows that a pull has found are those of the same ids alone',
    file: 'src/tensor/pulled-rows.ts',
    find: 'return this.#heap.kernels.areSameIds(address, ids, count) !== 0;',
    replace: 'return this.#heap.kernels.areSameIds(address, ids, count) < 2;',
    tests: TESTS,
  },
  {
    rule: 'a push that a shard skips is located shard by shard',
    file: 'src/tensor/wasm-parameters.ts',
    find: 'this.#mayRecall() && this.#allApply(actions) ? this.#pulled : undefined',
    replace: 'this.#mayRecall() ? this.#pulled : undefined',
    tests: TESTS,
  },
  {
    rule: 'ids whose rows are looked for in an older version are copied before a pull that may move them',
    file: 'src/roles/pserver/held/pre-image.ts',
    find: 'const own = ids.slice();',
    replace: 'const own = ids;',
    tests: ['test/roles/pserver/modes/rounds/views.test.ts'],
  },
  {
    rule: 'the gradients of a push that failed are given back',
    file: 'src/roles/trainer/tasks/train-task.ts',
    find: '      () => {\n        this.#free(contributions);\n',
    replace: '      () => {\n',
    tests: ['test/roles/trainer/tasks/kept-gradients.test.ts'],
  },
];
