/** Rules of how copies of units are compared while they change. */
import type { Mutation } from './mutation.ts';

const REPLICAS = 'src/roles/pserver/replicas';
const DIGESTS = { file: `${REPLICAS}/copy-digests.ts`, tests: ['test/roles/pserver/replicas/copy-digests.test.ts'] };
const COMPARE = { file: 'src/cluster/client/compare-copies.ts', tests: ['test/cluster/client/compare-copies.test.ts'] };

export const COMPARED_COPIES: readonly Mutation[] = [
  {
    ...DIGESTS,
    rule: 'a digest is of the position that was named, and of no other',
    find: 'position === wanted ?',
    replace: 'wanted !== undefined ?',
  },
  {
    file: `${REPLICAS}/committed-updates.ts`,
    tests: ['test/roles/pserver/replicas/committed-updates.test.ts'],
    rule: 'a digest can be taken after each of the updates that are applied in one turn',
    find: '      this.#options.onEach(due);',
    replace: '      if (updates.length === 0) this.#options.onEach(due);',
  },
  {
    ...DIGESTS,
    rule: 'no more digests are waited for than the bound says',
    find: 'if (this.#asked.size >= LIMITS.digestsWaiting)',
    replace: 'if (this.#asked.size < 0)',
  },
  {
    ...COMPARE,
    rule: 'copies differ only when the head did not change: another one may not be in sync',
    find: '(await options.headRevision(unit)) === stored.modRevision',
    replace: 'unit >= 0',
  },
  {
    ...COMPARE,
    rule: 'copies that go on faster than they are asked are asked further ahead',
    find: 'wasPassed ? Math.max(1, 2 * ahead)',
    replace: 'wasPassed ? ahead',
  },
];
