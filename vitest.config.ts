import { defineConfig } from 'vitest/config';

/**
 * Two projects: `unit` runs in-process and in seconds; `cluster` starts real processes of the built executable
 * (and a real etcd), one file at a time so that the processes of two clusters do not compete for the cores.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/cluster/**'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
