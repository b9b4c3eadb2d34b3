/** Rules of the curves of a job. */
import type { Mutation } from './mutation.ts';

export const HISTORY: readonly Mutation[] = [
  {
    rule: 'a point is saved with the end of the task that it counts',
    file: 'src/roles/master/tasks/service.ts',
    find: 'const save = [...changes, ...(history?.step(event, effects) ?? [])];',
    replace:
      'const save = changes;\n    queueMicrotask(() => queueMicrotask(() => pipeline?.save(history?.step(event, effects) ?? [], [])));',
    tests: ['test/roles/master/tasks/history.test.ts'],
  },
  {
    rule: 'a master that takes over counts what was trained before it',
    file: 'src/roles/master/tasks/history.ts',
    find: 'this.#sums = totalSums([...ended.map(({ sums }) => sums), current]).metrics;',
    replace: 'this.#sums = totalSums([current]).metrics;',
    tests: ['test/roles/master/tasks/history.test.ts'],
  },
  {
    rule: 'a pass whose point was not saved gets it from the next master',
    file: 'src/roles/master/tasks/history.ts',
    find: 'return withPass(all, { ...sums.metrics',
    replace: 'return pass >= 0 ? all : withPass(all, { ...sums.metrics',
    tests: ['test/roles/master/tasks/history.test.ts'],
  },
  {
    rule: 'an end that is refused is not counted',
    file: 'src/roles/master/tasks/history.ts',
    find: "event.type === 'finish' && effects.some(({ type }) => type === 'accept')",
    replace: "event.type === 'finish'",
    tests: ['test/roles/master/tasks/history.test.ts'],
  },
  {
    rule: 'the stretch of a point doubles when there would be too many',
    file: 'src/core/spacing.ts',
    find: 'while (length / spacing > most) spacing *= 2;',
    replace: 'while (length / spacing > 1000 * most) spacing *= 2;',
    tests: ['test/core/history.test.ts'],
  },
  {
    rule: 'points of rounds are left out by the round that is reached, not by the newest point',
    file: 'src/core/history.ts',
    find: 'positionOf, Math.max(known, reached), ROUNDS_SAMPLED)',
    replace: 'positionOf, points.at(-1)?.round ?? known, ROUNDS_SAMPLED)',
    tests: ['test/core/history.test.ts'],
  },
  {
    rule: 'points of rounds that were shown stay as they are',
    file: 'src/core/history.ts',
    find: 'filter(({ version }) => version > known);',
    replace: 'filter(({ version }) => version >= 0);',
    tests: ['test/core/history.test.ts'],
  },
  {
    rule: 'sums of the whole job go on from the newest sample',
    file: 'src/core/pass-metrics.ts',
    find: 'addMetrics(all, metrics), newest ?? noSums);',
    replace: 'addMetrics(all, metrics), keptSamples(before, version).at(-1) ?? noSums);',
    tests: ['test/core/pass-metrics.test.ts'],
  },
];
