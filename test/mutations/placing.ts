/** Rules of which pserver should have which unit, and when. */
import type { Mutation } from './mutation.ts';

const GROWTH_TESTS = ['test/core/units/growth.test.ts', 'test/roles/pserver/transfer/registry.test.ts'];

export const PLACING: readonly Mutation[] = [
  {
    rule: 'a share that is too large for a moment keeps its units',
    file: 'src/core/units/growth.ts',
    find: 'return this.#sinceMs + GROWN_MS;',
    replace: 'return this.#sinceMs;',
    tests: GROWTH_TESTS,
  },
  {
    rule: 'pservers that come get their share at once',
    file: 'src/roles/pserver/placement/planner.ts',
    find: 'settledAtMs(() => this.#growth.clusterChanged())',
    replace: 'settledAtMs(() => {})',
    tests: ['test/roles/pserver/transfer/registry.test.ts'],
  },
  {
    rule: 'what a process that is not reached would get goes to another one',
    file: 'src/roles/pserver/placement/planner.ts',
    find: 'this.#refused.isPassedOver(one.index)',
    replace: 'Number.isNaN(one.index)',
    tests: ['test/roles/pserver/placement/copies.test.ts'],
  },
  {
    rule: 'a copy of a dead process counts for nothing, even if another process has its index',
    file: 'src/roles/pserver/placement/duties.ts',
    find: '.filter(({ index, token }) => tokens.get(index) === token)',
    replace: '.filter(({ index }) => tokens.has(index))',
    tests: ['test/roles/pserver/placement/copies.test.ts'],
  },
  {
    rule: 'few copies are made at a time',
    file: 'src/roles/pserver/placement/planner.ts',
    find: 'if (inProgress() >= MOST_AT_A_TIME) break;',
    replace: '',
    tests: ['test/roles/pserver/placement/copies.test.ts'],
  },
  {
    rule: 'a process that has failed to get a copy is left alone for a while',
    file: 'src/roles/pserver/placement/planner.ts',
    find: 'else this.#refused.refused(to);',
    replace: '',
    tests: ['test/roles/pserver/placement/copies.test.ts'],
  },
  {
    rule: 'a pserver that does not serve for long holds up nothing',
    file: 'src/roles/pserver/placement/seen-cluster.ts',
    find: "return nowMs < unknownSinceMs + LATE_MS ? 'unknown' : 'late';",
    replace: "return 'unknown';",
    tests: ['test/roles/pserver/placement/copies.test.ts'],
  },
  {
    rule: 'a pserver that does not serve yet is waited for',
    file: 'src/roles/pserver/placement/seen-cluster.ts',
    find: "return nowMs < unknownSinceMs + LATE_MS ? 'unknown' : 'late';",
    replace: "return 'late';",
    tests: ['test/roles/pserver/placement/copies.test.ts'],
  },
];
