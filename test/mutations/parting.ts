/** Rules of copies that are written down by processes that have lost their index, and of who loads them. */
import type { Mutation } from './mutation.ts';

const COPIES = 'src/roles/pserver/replicas/last-copies.ts';
const COPIES_TESTS = ['test/roles/pserver/replicas/last-copies.test.ts'];
const STATE = 'src/roles/pserver/files/last-state.ts';
const STATE_TESTS = ['test/roles/pserver/files/last-state.test.ts'];
const LOAD_TESTS = ['test/roles/pserver/modes/tasks/load-copies.test.ts'];
const TAKE_TESTS = ['test/roles/pserver/take/take-units.test.ts'];

export const PARTING: readonly Mutation[] = [
  {
    rule: 'a copy is written down with everything that is staged',
    file: 'src/roles/pserver/replicas/machines.ts',
    find: 'return [...committed, ...(this.of(unit)?.staged() ?? [])].map(',
    replace: 'return committed.map(',
    tests: COPIES_TESTS,
  },
  {
    rule: 'copies are written down when the store answers again, even in a process that was asked to stop',
    file: COPIES,
    find: 'keys.headsPrefix }), NEVER)',
    replace: 'keys.headsPrefix }))',
    tests: COPIES_TESTS,
  },
  {
    rule: 'a copy is written down with what was committed and not applied yet',
    file: 'src/roles/pserver/replicas/machines.ts',
    find: 'return [...committed, ...(this.of(unit)?.staged() ?? [])].map(',
    replace: 'return (this.of(unit)?.staged() ?? []).map(',
    tests: COPIES_TESTS,
  },
  {
    rule: 'a copy is written down only where the store counts on it',
    file: COPIES,
    find: 'const named = heads.filter(({ head }) => isCountedOn(head, me));',
    replace: 'const named = heads;',
    tests: COPIES_TESTS,
  },
  {
    rule: 'what is staged is applied once, however often the disk refuses the file',
    file: COPIES,
    find: 'if (known !== undefined) return known;',
    replace: '',
    tests: COPIES_TESTS,
  },
  {
    rule: 'a copy that an update does not fit is not written down',
    file: COPIES,
    find: 'copied.apply([unit], payload).length === 0)',
    replace: 'copied.apply([unit], payload).length >= 0)',
    tests: COPIES_TESTS,
  },
  {
    rule: 'a copy is written down under the epoch of its head',
    file: COPIES,
    find: 'head.epoch]));',
    replace: '1]));',
    tests: COPIES_TESTS,
  },
  {
    rule: 'what a process that was in sync has written down is the last state, as that of the primary is',
    file: STATE,
    find: 'countedOn(former).map((owner)',
    replace: '[primary].map((owner)',
    tests: [...STATE_TESTS, ...LOAD_TESTS],
  },
  {
    rule: 'of several copies that were written down the one that is the furthest counts',
    file: STATE,
    find: 'if (isNewer) best.set(',
    replace: 'if (known === undefined) best.set(',
    tests: STATE_TESTS,
  },
  {
    rule: 'after a clean stop no copy counts',
    file: 'src/cluster/placement/heads.ts',
    find: 'rest === undefined ? [primary, ',
    replace: 'rest === undefined || rest !== undefined ? [primary, ',
    tests: [...STATE_TESTS, ...TAKE_TESTS],
  },
  {
    rule: 'a unit is not taken without a copy that was written down since',
    file: 'src/roles/pserver/take/take-units.ts',
    find: 'const modRevision = partings.get(token);',
    replace: "const modRevision = partings.get(token === head!.primary.token ? token : '');",
    tests: TAKE_TESTS,
  },
  {
    rule: 'a copy that was written down and cannot be found may have an equal at another pserver',
    file: 'src/roles/pserver/modes/tasks/load.ts',
    find: "if (!('missing' in looked) || !found.isParting) return looked;",
    replace: 'if (looked !== undefined) return looked;',
    tests: LOAD_TESTS,
  },
  {
    rule: 'who takes a unit waits for copies that may be being written down',
    file: 'src/roles/pserver/modes/tasks/load.ts',
    find: 'await waitForParting(',
    replace: 'if (Number.isNaN(left.length)) await waitForParting(',
    tests: LOAD_TESTS,
  },
  {
    rule: 'a process whose index is claimed again writes nothing down any more',
    file: 'src/roles/pserver/files/wait-for-parting.ts',
    find: ' && !claimed.has(keys.ps(index))',
    replace: '',
    tests: LOAD_TESTS,
  },
  {
    rule: 'a pserver that has lost its index keeps a copy until it is written, as long as the store counts on it',
    file: 'src/roles/pserver/stopping.ts',
    find: 'isCountedOn(parseHead(key, value), me)',
    replace: 'isCountedOn({ ...parseHead(key, value), inSync: [] }, me)',
    tests: ['test/roles/pserver/stopping.test.ts'],
  },
  {
    rule: 'a process that ends with the whole job keeps a copy until its primary has saved the unit, or is gone',
    file: 'src/roles/pserver/replicas/unsaved-copies.ts',
    find: "role === 'member' && head !== undefined",
    replace: "role === 'member' && head === undefined",
    tests: ['test/roles/pserver/replicas/unsaved-copies.test.ts'],
  },
  {
    rule: 'what is fatal ends a last save whose units are never quiet',
    file: 'src/roles/pserver/stopping.ts',
    find: 'orAborted(service.saveLast(patienceMs), fatal)',
    replace: 'service.saveLast(patienceMs)',
    tests: ['test/roles/pserver/stopping.test.ts'],
  },
];
