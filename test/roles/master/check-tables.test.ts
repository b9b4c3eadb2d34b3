import { expect, test } from 'vitest';
import { checkTables } from '../../../src/roles/master/check-tables.ts';
import { trainedSpec } from '../../../src/tensor/optimizer.ts';
import { SGD, table } from '../../tensor/fixture.ts';

/** Rows of u64 id, 4 floats and `seen`: 28 bytes, and at most 32 + 10.7 in memory. */
function check(maxBytes: number, cluster: { shards: number; minPservers: number; replicas: number }): void {
  const choice = { optimizer: SGD, tables: { rows: { maxBytes } }, cluster };
  checkTables(choice as unknown as Parameters<typeof checkTables>[0], trainedSpec(table(4), choice));
}

test('a shard must have room for 64 rows', () => {
  const cluster = { shards: 10, minPservers: 1, replicas: 1 };
  check(64 * 28 * 10, cluster);
  expect(() => check(64 * 28 * 10 - 1, cluster)).toThrowError(
    expect.objectContaining({
      code: 'JobInvalid',
      message: expect.stringMatching(
        /expected at least 17920 bytes \(64 rows of 28 bytes in each of 10 shards\), got 17919/,
      ),
    }),
  );
});

test('the bounds of all tables must fit into the fewest pservers, with all copies', () => {
  const cluster = { shards: 64, minPservers: 2, replicas: 1 };
  check(5e9, cluster);
  check(5e9, { ...cluster, minPservers: 4, replicas: 2 });
  for (const tooFew of [
    { ...cluster, minPservers: 1 },
    { ...cluster, minPservers: 3, replicas: 2 },
  ])
    expect(() => check(5e9, tooFew)).toThrowError(
      expect.objectContaining({
        code: 'JobInvalid',
        message: expect.stringContaining('it can have 4.3 GB'),
        hint: `set cluster.minPservers to ${2 * tooFew.replicas} or more, or lower maxBytes`,
      }),
    );
});
