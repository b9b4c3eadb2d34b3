/** Rules of which pserver should have which unit, and when. */
import type { Mutation } from './mutation.ts';

const GROWTH_TESTS = ['test/core/units/growth.test.ts', 'test/roles/pserver/units/registry.test.ts'];

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
    file: 'src/roles/pserver/units/move-planner.ts',
    find: '      this.#growth.clusterChanged();\n',
    replace: '',
    tests: ['test/roles/pserver/units/registry.test.ts'],
  },
];
