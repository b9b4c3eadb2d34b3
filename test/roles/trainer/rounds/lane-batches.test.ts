import { expect, test } from 'vitest';
import type { Batch } from '../../../../src/model/model.ts';
import { prepareLanes } from '../../../../src/roles/trainer/rounds/lane-batches.ts';
import type { LaneReader } from '../../../../src/roles/trainer/rounds/lane-reader.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';

const idsOf = (lane: number): bigint[] => [7n, BigInt(100 + lane), BigInt(101 + lane)];

function batchOf(lane: number): Batch {
  const ids = new Uint8Array(BigUint64Array.from(idsOf(lane)).buffer);
  const input = { ids, count: 3, offsets: Uint32Array.of(0, 3), rows: Uint32Array.of(0, 1, 2), values: undefined };
  return { records: lane === 2 ? 0 : 1, labels: Float32Array.of(1), sparse: [input], dense: [] };
}

const reader: Pick<LaneReader, 'read'> = {
  read: async (_, lane) => (lane === 1 ? undefined : { batch: batchOf(lane) }) as never,
};

test.each([4, 9, 10, 11, 40])('%i lanes are pulled in at most 8 lists, in which each finds its ids', async (count) => {
  const lanes = Array.from({ length: count }, (_, lane) => lane);
  const router = createIdRouter({ shards: 8 });
  const { unions, places } = await prepareLanes(
    { reader: reader as LaneReader, router, model: { lookups: [0] } },
    0,
    lanes,
  );
  // One lane is empty, and another has no good record.
  expect([...places.keys()]).toEqual(lanes.filter((lane) => lane !== 1 && lane !== 2));
  expect(unions.length).toBeLessThanOrEqual(8);
  for (const [lane, { union, batch }] of places) {
    const { ids, positions } = unions[union]!;
    const all = [...new BigUint64Array(ids[0]!.ids.slice(0, 8 * ids[0]!.count).buffer)];
    const at = positions[batch]?.[0] ?? all.keys();
    expect([...at].map((place) => all[place])).toEqual(idsOf(lane));
    // Pushed as it was pulled.
    if (count - 2 <= 8) expect(positions[batch]).toBeUndefined();
  }
});
