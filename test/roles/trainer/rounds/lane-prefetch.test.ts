import { expect, test } from 'vitest';
import type { LaneBatches } from '../../../../src/roles/trainer/rounds/lane-batches.ts';
import { LanePrefetch } from '../../../../src/roles/trainer/rounds/lane-prefetch.ts';

function rig() {
  const prepared: string[] = [];
  const prefetch = new LanePrefetch(async (round, lanes) => {
    prepared.push(`${round}: ${lanes.join()}`);
    return { round, lanes } as LaneBatches;
  });
  return { prepared, prefetch };
}

test('prefetched batches are used once, for their round and lanes', async () => {
  const { prepared, prefetch } = rig();
  prefetch.start(5, [1, 2]);
  prefetch.start(5, [1, 2]);
  expect(await prefetch.take(5, [1, 2])).toMatchObject({ round: 5, lanes: [1, 2] });
  expect(prepared).toEqual(['5: 1,2']);
  await prefetch.take(5, [1, 2]);
  expect(prepared).toEqual(['5: 1,2', '5: 1,2']);
});

test('batches of other lanes or of another round are prepared again', async () => {
  const { prepared, prefetch } = rig();
  prefetch.start(5, [1, 2]);
  expect(await prefetch.take(5, [1])).toMatchObject({ round: 5, lanes: [1] });
  prefetch.start(6, [1]);
  expect(await prefetch.take(7, [1])).toMatchObject({ round: 7, lanes: [1] });
  prefetch.start(8, [1]);
  prefetch.clear();
  await prefetch.take(8, [1]);
  expect(prepared).toEqual(['5: 1,2', '5: 1', '6: 1', '7: 1', '8: 1', '8: 1']);
});

test('a failure is seen where the batches are taken', async () => {
  const prefetch = new LanePrefetch(() => Promise.reject(new Error('unreadable')));
  prefetch.start(1, [0]);
  await expect(prefetch.take(1, [0])).rejects.toThrow('unreadable');
});
