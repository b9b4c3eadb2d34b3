/** Rules of the heads of units, as copies propose to change them. */
import type { Mutation } from './mutation.ts';

const FILE = 'src/cluster/placement/propose-heads.ts';
const TESTS = ['test/cluster/placement/propose-heads.test.ts'];

export const HEADS: readonly Mutation[] = [
  {
    rule: 'a copy takes over only when the process before it has lost its index',
    file: FILE,
    find: '  ...gone.map(({ index, token }) => ({ key: keys.ps(index), notCreateRevision: BigInt(token) })),\n',
    replace: '',
    tests: TESTS,
  },
  {
    rule: 'a process that has lost its index is gone, even if another one has that index now',
    file: FILE,
    find: '({ key: keys.ps(index), notCreateRevision: BigInt(token) })),\n',
    replace: '({ key: keys.ps(index), createRevision: BigInt(token) * 0n })),\n',
    tests: TESTS,
  },
  {
    rule: 'only a process that has its index comes into a head, or to lead',
    file: FILE,
    find: '  ...alive.map(({ index, token }) => ({ key: keys.ps(index), createRevision: BigInt(token) })),\n',
    replace: '',
    tests: TESTS,
  },
  {
    rule: 'an unknown outcome of a change of heads is settled by an answered transaction, not by a read',
    file: 'src/cluster/placement/change-heads.ts',
    find: 'const answer = await retryStore(context, () => attempt(by, changes), signal);',
    replace: `const answer = await attempt(by, changes).catch(async () => {
    const results = await Promise.all(changes.map(({ unit }) => context.store.get(keys.head(unit))));
    return { succeeded: false, revision: 0n, results };
  });`,
    tests: TESTS,
  },
  {
    rule: 'proposals that need the same share transactions',
    file: FILE,
    find: 'const atOnce = mostTogether(also);',
    replace: 'const atOnce = Math.min(1, mostTogether(also));',
    tests: TESTS,
  },
  {
    rule: 'proposals that need different processes share no transaction',
    file: FILE,
    find: 'JSON.stringify([alive, gone].map(namesOf))',
    replace: 'namesOf([...alive, ...gone]).length',
    tests: TESTS,
  },
  {
    rule: 'no copy takes over what was left by a clean stop',
    file: FILE,
    find: "proposal.kind === 'promote' && from.head.rest !== undefined;",
    replace: "proposal.kind !== 'promote' && from.head.rest === undefined && from.unit < 0;",
    tests: TESTS,
  },
  {
    rule: 'who begins to lead leaves no file named as the last state, and gives the unit another placement stamp',
    file: FILE,
    find: "if (kind === 'handOver' || kind === 'promote') return",
    replace: "if (kind === 'promote') return",
    tests: TESTS,
  },
  {
    rule: 'a file stays the last state when copies come and go',
    file: FILE,
    find: '...(rest === undefined ? {} : { rest }) };',
    replace: '...(rest === undefined ? {} : {}) };',
    tests: TESTS,
  },
];
