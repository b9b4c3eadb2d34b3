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
    find: 'const { metrics } = totalSums([...ended.map(({ sums }) => sums), current]);',
    replace: 'const { metrics } = totalSums([]);',
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
    find: 'added.reduce(addMetrics, newest ?? noSums);',
    replace: 'added.reduce(addMetrics, noSums);',
    tests: ['test/core/pass-metrics.test.ts'],
  },
  {
    rule: 'points of rounds are of the passes that the answer of a pserver has, not of those seen before',
    file: 'src/core/history.ts',
    find: 'endedPasses(metrics, passAt(reached))',
    replace: 'endedPasses(metrics, passAt(Number.MAX_SAFE_INTEGER))',
    tests: ['test/core/history.test.ts'],
  },
  {
    rule: 'sums of a master that takes over are not below those of a point that is there',
    file: 'src/roles/master/tasks/history.ts',
    find: 'newest === undefined ? metrics : atLeast(metrics, newest)',
    replace: 'metrics',
    tests: ['test/roles/master/tasks/history.test.ts'],
  },
  {
    rule: 'curves that cannot be read stop no master',
    file: 'src/roles/master/load-history.ts',
    find: "if (!isPaddletError(error, 'StoreValueInvalid')) throw error;",
    replace: 'throw error;',
    tests: ['test/roles/master/tasks/history.test.ts'],
  },
];
