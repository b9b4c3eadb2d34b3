/** Rules of evaluation: while a job trains, and of metrics of groups. */
import type { Mutation } from './mutation.ts';

const EVALUATIONS = 'src/roles/master/best/evaluations.ts';
const BEST_TESTS = ['test/roles/master/best'];
const SYNC_SIM = { mode: 'sync', isEvaluated: true } as const;
const ASYNC_SIM = { mode: 'async', isEvaluated: true } as const;

export const EVALUATION: readonly Mutation[] = [
  {
    rule: 'training goes on when the model is saved',
    file: EVALUATIONS,
    find: 'if (!(await this.#save(trained, training, signal))) return undefined;',
    replace: 'this.#save(trained, training, signal).catch(() => {});',
    tests: BEST_TESTS,
  },
  {
    rule: 'of a model that a restored pserver has changed nothing is stored',
    file: EVALUATIONS,
    find: 'this.#key.write(JSON.stringify(next), halted?.unchanged)',
    replace: 'this.#key.write(JSON.stringify(next), halted && undefined)',
    tests: BEST_TESTS,
  },
  {
    rule: 'a model is scored before the next one is saved',
    file: EVALUATIONS,
    find: '    await this.#scored(training, signal);\n    if (!isSamePoint',
    replace: '    if (!isSamePoint',
    schedules: SYNC_SIM,
  },
  {
    rule: 'a job ends with the scores of its last model',
    file: EVALUATIONS,
    find: '      await this.#scored(training, signal);\n      this.#hasEnded',
    replace: '      this.#hasEnded',
    tests: BEST_TESTS,
  },
  {
    rule: 'training halts where it was let go up to, whatever is known since',
    file: 'src/core/evaluation-points.ts',
    find: 'const kept = until === undefined ? {} : { until };',
    replace: 'const kept = until === undefined ? { until } : {};',
    tests: ['test/core/evaluation-points.test.ts'],
  },
  {
    rule: 'what had ended a job early is forgotten when it gets more passes',
    file: 'src/roles/master/raise-passes.ts',
    find: 'JSON.stringify(continued(parseStoreValue(evaluationStateSchema, key, value)))',
    replace: 'JSON.stringify(parseStoreValue(evaluationStateSchema, key, value))',
    tests: ['test/roles/master/raise-passes.test.ts'],
  },
  {
    rule: 'a discarded task is closed in no pass that may not be trained yet',
    file: 'src/roles/master/tasks/conclude.ts',
    find: 'const passes = queue.until();',
    replace: 'const passes = Math.max(queue.until(), 4);',
    schedules: ASYNC_SIM,
  },
  {
    rule: 'the final checkpoint of a job that ends early needs its passes alone',
    file: 'src/roles/master/tasks/conclude.ts',
    find: '{ final: true, recovery: options.recovery, passes: options.passes }',
    replace: '{ final: true, recovery: options.recovery }',
    schedules: ASYNC_SIM,
  },
  {
    rule: 'a master that takes over trains no passes but those that the one before was going to',
    file: 'src/roles/master/tasks/open-service.ts',
    find: ', until: options.until(record.job.training).passes }',
    replace: ' }',
    schedules: ASYNC_SIM,
  },
  {
    rule: 'the last pass that is saved is that after which the job ended',
    file: 'src/core/save-election.ts',
    find: '      this.#passes = passes;\n      this.overtaken();\n',
    replace: '',
    tests: ['test/core/save-election.test.ts'],
  },
  {
    rule: 'a trainer pushes no lanes of rounds that may not be computed',
    file: 'src/core/rounds/lane-work.ts',
    find: 'rounds = until;',
    replace: 'rounds = Number.POSITIVE_INFINITY;',
    tests: ['test/core/rounds/lane-work.test.ts', 'test/roles/trainer/rounds/loop.test.ts'],
  },
  {
    rule: 'no cut is planned of rounds that may not be computed',
    file: 'src/core/rounds/cut-planner.ts',
    find: '(cut.round < until ? cut : undefined)',
    replace: '(until >= 0 ? cut : undefined)',
    tests: ['test/core/rounds/cut-planner.test.ts'],
  },
  {
    rule: 'a cut that was planned up to the halt is planned again when training goes on',
    file: 'src/core/rounds/cut-planner.ts',
    find: '        this.#until = event.until;\n',
    replace: '',
    tests: ['test/core/rounds/cut-planner.test.ts'],
  },
  {
    rule: 'kept files are durable before they are named in the store',
    file: 'src/checkpoint/registry/kept.ts',
    find: '    await disk.syncFolder(into);\n',
    replace: '',
    tests: ['test/checkpoint/registry/kept.test.ts'],
  },
  {
    rule: 'a file that a master before has kept stays',
    file: 'src/checkpoint/registry/kept.ts',
    find: 'if (!(await disk.exists(to))) await disk.link',
    replace: 'await disk.link',
    tests: ['test/checkpoint/registry/kept.test.ts'],
  },
  {
    rule: 'a master that takes over lets a halted queue go on',
    file: 'src/roles/master/tasks/open-service.ts',
    find: '  goOn(queue.until());\n',
    replace: '  close(queue.discarded());\n',
    tests: ['test/roles/master/tasks/halted-queue.test.ts'],
  },
  {
    rule: 'a late write of what is known of models undoes nothing',
    file: 'src/roles/master/best/evaluation-key.ts',
    find: 'const compares = [{ key: keys.evaluation, modRevision: before }, ',
    replace: 'const compares = [',
    tests: ['test/roles/master/best/evaluation-key.test.ts'],
  },
  {
    rule: 'what is known of models is written on the state that training had halted with',
    file: 'src/roles/master/best/evaluation-key.ts',
    find: '...(unchanged === undefined ? [] : [unchanged])]',
    replace: '...(unchanged === undefined ? [] : [])]',
    tests: ['test/roles/master/best/evaluation-key.test.ts'],
  },
  {
    rule: 'tied records of a group count as the mean over all their orders',
    file: 'src/model/ranking.ts',
    find: 'if (score !== this.#score) this.#endTies(score);',
    replace: 'this.#endTies(score);',
    tests: ['test/model/ranking.test.ts'],
  },
  {
    rule: 'a record of weight 0 has no rank in its group',
    file: 'src/model/groups.ts',
    find: ' || weights?.[record] === 0',
    replace: '',
    tests: ['test/model/ranking.test.ts'],
  },
  {
    rule: 'each group that has a positive counts once',
    file: 'src/model/ranking.ts',
    find: 'this.#groups++;',
    replace: 'this.#groups += this.#positives;',
    tests: ['test/model/ranking.test.ts'],
  },
];
