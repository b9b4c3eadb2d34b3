import { defineConfig } from 'vitest/config';

/** For what never ends: many times what a test takes beside much other work. */
const LIMIT_MS = 600_000;
const LIMITS = { testTimeout: LIMIT_MS, hookTimeout: LIMIT_MS };
/** Of what tells of itself by no event, such as the end of a process that the test did not start. */
const POLL = { poll: { timeout: LIMIT_MS / 2 } };

/**
 * `unit` and `unit-alone` run in-process; `unit-objects` runs the tests of checkpoints once more, with an object store
 * instead of a disk. `--project 'unit*'` chooses all three. `executable` starts real processes of the
 * built executable (and a real etcd): one file for each promise and each command, one at a time so that the processes of
 * two clusters do not compete for the cores. `nightly` are the files of both kinds that take too long for each commit
 * (`scripts/nightly.sh`).
 */
const NIGHTLY = 'test/**/*.nightly.test.ts';
/**
 * Folders of files that change nothing outside of what they make: many of them share a process, in which each module is
 * loaded once. That saves some 0.4 s of processor time for each file. All others have a process of their own.
 */
const SHARING =
  'base|checkpoint|cluster|commands|contract|core|data|endless|host|job|mutations|page|protocol|roles|scripts|store|sync|tensor|tidy';
/** They go through every state of a model: much faster where the compiler has seen only them, as those of test/model. */
const MODELS = 'test/core/**/*model.test.ts';
/** Tests of checkpoints that have no files, or files on a real disk: an object store would change nothing. */
const WITHOUT_STORAGE = [
  'test/checkpoint/export/**',
  'test/checkpoint/file/coverage.test.ts',
  'test/checkpoint/registry/{chains,cut,needed,retention}.test.ts',
];
/** A module that is mocked must be loaded for the first time. */
const MOCKING = ['test/commands/unreachable-store.test.ts', 'test/tensor/hostile-ids.test.ts'];
/** Tests, the simulation above all, make much that is soon dropped: with less room more of it is copied before that. */
const ROOM = ['--min-semi-space-size=64', '--max-semi-space-size=64'];
// Vitest leaves a core alone by default: half of them on the smallest machines.
const IN_PROCESS = {
  maxWorkers: '100%',
  execArgv: ROOM,
  setupFiles: ['test/after-each-file.ts'],
  expect: POLL,
  ...LIMITS,
};
const REAL_PROCESSES = { fileParallelism: false, setupFiles: ['test/after-each-file.ts'], expect: POLL, ...LIMITS };

export default defineConfig({
  test: {
    // `npm run coverage`: of the unit tests; what `cluster` runs are other processes.
    coverage: { provider: 'v8', include: ['bin/**', 'src/**'], reporter: ['text-summary', 'html', 'json-summary'] },
    projects: [
      {
        test: {
          name: 'unit',
          include: [`test/(${SHARING})/**/*.test.ts`],
          exclude: [NIGHTLY, MODELS, ...MOCKING],
          isolate: false,
          ...IN_PROCESS,
        },
      },
      {
        test: {
          name: 'unit-alone',
          include: ['test/*.test.ts', `test/!(executable|${SHARING})/**/*.test.ts`, MODELS, ...MOCKING],
          exclude: [NIGHTLY],
          ...IN_PROCESS,
        },
      },
      {
        test: {
          name: 'unit-objects',
          include: ['test/checkpoint/**/*.test.ts'],
          exclude: [NIGHTLY, ...WITHOUT_STORAGE],
          isolate: false,
          ...IN_PROCESS,
          env: { PADDLET_TEST_STORAGE: 'objects' },
        },
      },
      {
        test: {
          name: 'executable',
          include: ['test/executable/**/*.test.ts'],
          exclude: [NIGHTLY],
          isolate: false,
          ...REAL_PROCESSES,
        },
      },
      { test: { name: 'nightly', include: [NIGHTLY], ...REAL_PROCESSES } },
    ],
  },
});
