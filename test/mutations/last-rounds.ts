/** Rules of sync mode about pservers that stop: what they save, and what they take no more. */
import type { Mutation } from './mutation.ts';

export const LAST_ROUNDS: readonly Mutation[] = [
  {
    rule: 'in sync mode a file is of one round, however far apart the units of a pserver are',
    file: 'src/roles/pserver/modes/rounds/save-last.ts',
    find: '  return rounds.byRound().map(',
    replace:
      '  const [lowest, ...others] = rounds.byRound();\n' +
      '  const units = [lowest, ...others].flatMap((one) => one?.units ?? []).sort((a, b) => a - b);\n' +
      '  return (lowest === undefined ? [] : [{ ...lowest, units }]).map(',
    tests: ['test/roles/pserver/modes/rounds/save-last.test.ts'],
  },
  {
    rule: 'the head of a unit names the file that has the unit',
    file: 'src/roles/pserver/modes/rounds/save-last.ts',
    find: 'heads.rest({ index: by.index, uuid }, units);',
    replace: 'heads.rest({ index: by.index, uuid });',
    tests: ['test/roles/pserver/modes/rounds/save-last.test.ts'],
  },
  {
    rule: 'each file of a parting snapshot is the last state of the units that it has',
    file: 'src/roles/pserver/files/last-state.ts',
    find: '  for (const file of files) {',
    replace: '  for (const file of files.slice(0, 1)) {',
    tests: ['test/roles/pserver/modes/rounds/load-last.test.ts'],
  },
  {
    rule: 'a parting snapshot stays until each of its files is replaced',
    file: 'src/roles/pserver/files/sweep.ts',
    find: '.every(isFileReplaced);',
    replace: '.some(isFileReplaced);',
    tests: ['test/roles/pserver/modes/tasks/load-former.test.ts'],
  },
  {
    rule: 'in sync mode a pserver that leaves takes no units',
    file: 'src/roles/pserver/modes/rounds/unit-taker.ts',
    find: '    if (this.#held.signal.aborted) return [];\n',
    replace: '',
    tests: ['test/roles/pserver/modes/rounds/unit-taker.test.ts'],
  },
  {
    rule: 'in sync mode, too, what a pserver is taking it takes, or gives up, before it has left',
    file: 'src/roles/pserver/modes/rounds/round-work.ts',
    find: '    const holding = this.#taker.hold();\n',
    replace: '    const holding = Promise.resolve();\n',
    tests: ['test/roles/pserver/leaving.test.ts'],
  },
  {
    rule: 'in sync mode a pserver that leaves does not take what it has loaded by then',
    file: 'src/roles/pserver/modes/rounds/unit-taker.ts',
    find: '      throwIfAborted(waitSignal);\n',
    replace: '',
    tests: ['test/roles/pserver/modes/rounds/unit-taker.test.ts'],
  },
];
