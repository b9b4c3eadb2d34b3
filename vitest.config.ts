import { defineConfig } from 'vitest/config';

/** Of what tells of itself by no event, such as the end of a process that the test did not start. */
const POLL = { poll: { timeout: 60_000 } };

/**
 * Three projects. `unit` runs in-process. `executable` starts real processes of the built executable (and a real etcd):
 * one file for each promise and each command, one at a time so that the processes of two clusters do not compete for the
 * cores. `nightly` are the files of both kinds that take too long for each commit (`scripts/nightly.sh`).
 */
const NIGHTLY = 'test/**/*.nightly.test.ts';
const REAL_PROCESSES = {
  // Many times what a test takes when the machine has nothing else to do.
  testTimeout: 600_000,
  hookTimeout: 60_000,
  expect: POLL,
  fileParallelism: false,
};

export default defineConfig({
  test: {
    // `npm run coverage`: of the unit tests; what `cluster` runs are other processes.
    coverage: { provider: 'v8', include: ['bin/**', 'src/**'], reporter: ['text-summary', 'html', 'json-summary'] },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/executable/**', NIGHTLY],
          // Vitest leaves a core alone by default: half of them on the smallest machines.
          maxWorkers: '100%',
          testTimeout: 60_000,
          expect: POLL,
        },
      },
      {
        test: {
          name: 'executable',
          include: ['test/executable/**/*.test.ts'],
          exclude: [NIGHTLY],
          ...REAL_PROCESSES,
        },
      },
      { test: { name: 'nightly', include: [NIGHTLY], ...REAL_PROCESSES } },
    ],
  },
});
