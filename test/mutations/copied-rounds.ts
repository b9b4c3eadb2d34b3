/** Rules of sync mode where units have copies. */
import type { Mutation } from './mutation.ts';

const ROUNDS = 'src/roles/pserver/modes/rounds';
const REPLICAS = 'src/roles/pserver/replicas';
const TESTS = 'test/roles/pserver';
const PLACED_TESTS = [`${TESTS}/modes/rounds/placed-rounds.test.ts`];
const LEADING_TESTS = [`${TESTS}/replicas/leading.test.ts`];
const READINESS_TESTS = [`${TESTS}/replicas/readiness.test.ts`];
const SAVE_TESTS = [`${TESTS}/modes/rounds/save-last.test.ts`];

export const COPIED_ROUNDS: readonly Mutation[] = [
  {
    rule: 'the sum of a round that was dropped is placed again',
    file: `${ROUNDS}/placed-rounds.ts`,
    find: "      await (this.#options.replicas.wait('update') ?? this.#placeIn(waiting, sum));\n",
    replace: "      await this.#options.replicas.wait('update');\n      return this.#placeIn(waiting, sum);\n",
    tests: PLACED_TESTS,
  },
  {
    rule: 'a sum that waited for room is placed only where all its units wait for it still',
    file: `${ROUNDS}/placed-rounds.ts`,
    find: 'this.#waiting(units, sum).length === units.length',
    replace: 'true',
    tests: PLACED_TESTS,
  },
  {
    rule: 'no sum is placed while a unit has too few copies',
    file: `${ROUNDS}/placed-rounds.ts`,
    find: "this.#options.replicas.wait('update') ?? ",
    replace: '',
    tests: PLACED_TESTS,
  },
  {
    rule: 'nothing is placed once the rounds are frozen',
    file: `${ROUNDS}/placed-rounds.ts`,
    find: 'isFrozen() ? [] : ',
    replace: '',
    tests: PLACED_TESTS,
  },
  {
    rule: 'a sum that is too large for one frame does not fail the job',
    file: `${ROUNDS}/placed-rounds.ts`,
    find: "units.length > 1 && isPaddletError(error, 'FrameTooLarge')",
    replace: 'false',
    tests: PLACED_TESTS,
  },
  {
    rule: 'a unit that has left and returned does not wait for the sum from before',
    file: `${ROUNDS}/round-groups.ts`,
    find: 'kept.sum === sum',
    replace: 'kept.sum?.round === sum.round',
    tests: PLACED_TESTS,
  },
  {
    rule: 'a round counts in the units whose copies have it, and in no other',
    file: `${ROUNDS}/round-groups.ts`,
    find: 'const only = isWhole ? this.shardsOf(group) : this.#shardsOf(units);',
    replace: 'const only = this.shardsOf(group);',
    tests: PLACED_TESTS,
  },
  {
    rule: 'only units whose copies have the round are a version further',
    file: 'src/core/rounds/gates.ts',
    find: 'if (left.length === 0) {',
    replace: 'if (left.length >= 0) {',
    tests: [...PLACED_TESTS, 'test/core/rounds/gates.test.ts'],
  },
  {
    rule: 'a unit whose copy is of another timeline is not led with it',
    file: `${REPLICAS}/leading.ts`,
    find: 'rounds !== undefined && state?.timeline !== rounds.timeline()',
    replace: 'false',
    tests: LEADING_TESTS,
  },
  {
    rule: 'a unit that is handed over stays where it was in the rounds',
    file: `${REPLICAS}/leading.ts`,
    find: '    rounds?.remove(unit);\n',
    replace: '',
    tests: LEADING_TESTS,
  },
  {
    rule: 'a copy that is outdated takes no round, and is kept until it is known who leads the unit',
    file: `${REPLICAS}/copied-units.ts`,
    find: 'concerned.filter((unit) => !this.#isOutdated(unit))',
    replace: 'concerned',
    tests: [`${TESTS}/modes/rounds/copied.test.ts`],
  },
  {
    rule: 'units are led alone before they go back to a cut',
    file: `${ROUNDS}/round-work.ts`,
    find: '    await this.replicas?.alone();\n',
    replace: '',
    schedules: { mode: 'sync', isCopied: true },
  },
  {
    rule: 'a unit is led alone before it is loaded from the cut, as other copies are outdated, too',
    file: `${ROUNDS}/outdated-units.ts`,
    find: '    await copies?.alone(units);\n',
    replace: '',
    tests: [`${TESTS}/modes/rounds/outdated-units.test.ts`],
  },
  {
    rule: 'only outdated units lose their copies when they are loaded from the cut',
    file: `${REPLICAS}/readiness.ts`,
    find: '(units ?? machines.units())',
    replace: 'machines.units()',
    tests: READINESS_TESTS,
  },
  {
    rule: 'what was placed is decided before the units go back to a cut',
    file: `${REPLICAS}/readiness.ts`,
    find: 'machine.peers().length === 0 && machine.staged().length === 0',
    replace: 'true',
    tests: READINESS_TESTS,
  },
  {
    rule: 'a last save does not wait for a unit that is to be loaded from the cut',
    file: `${REPLICAS}/readiness.ts`,
    find: 'rounds?.isOutdated(unit) !== true',
    replace: 'true',
    tests: READINESS_TESTS,
  },
  {
    rule: 'a copy of another timeline is not written down',
    file: `${ROUNDS}/save-last.ts`,
    find: '    if (rounds?.timeline !== by.timeline) return [];\n',
    replace: '    if (rounds === undefined) return [];\n',
    tests: SAVE_TESTS,
  },
  {
    rule: 'copies are written down in the file of their round',
    file: `${ROUNDS}/save-last.ts`,
    find: '[...led, ...copied]',
    replace: 'led',
    tests: SAVE_TESTS,
  },
  {
    rule: 'where one process has written a damaged file down, that of another one counts',
    file: `${ROUNDS}/load-last.ts`,
    find: "    damaged.add(newest.uuid);\n    return 'vanished';\n",
    replace: '    return undefined;\n',
    tests: [`${TESTS}/modes/rounds/load-last.test.ts`],
  },
];
