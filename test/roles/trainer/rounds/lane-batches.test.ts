import { expect, test } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { PulledList } from '../../../../src/cluster/client/joined-pull.ts';
import { createLinear } from '../../../../src/model/lr.ts';
import type { Batch, Model } from '../../../../src/model/model.ts';
import { GradientCheck } from '../../../../src/roles/trainer/compute/gradient-check.ts';
import { KeptLanes } from '../../../../src/roles/trainer/rounds/kept-lanes.ts';
import { computeLane, prepareLanes } from '../../../../src/roles/trainer/rounds/lane-batches.ts';
import type { LaneReader } from '../../../../src/roles/trainer/rounds/lane-reader.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';

const idsOf = (lane: number): bigint[] => [7n, BigInt(100 + lane), BigInt(101 + lane)];

function batchOf(lane: number): Batch {
  const ids = new Uint8Array(BigUint64Array.from(idsOf(lane)).buffer);
  const input = { ids, count: 3, offsets: Uint32Array.of(0, 3), rows: Uint32Array.of(0, 1, 2), values: undefined };
  return { records: lane === 2 ? 0 : 1, labels: Float32Array.of(1), sparse: [input], dense: [] };
}

const reader: Pick<LaneReader, 'read'> = {
  read: async (_, lane) =>
    (lane === 1
      ? undefined
      : { batch: batchOf(lane), position: { pass: 2, task: lane, push: 6 }, good: undefined }) as never,
};

/** Of one table with rows of that width. */
const modelOf = (width: number): Pick<Model, 'lookups' | 'parameters'> => ({
  lookups: [0],
  parameters: { dense: [], sparse: [{ name: 'w', width }] } as unknown as Model['parameters'],
});

test('lanes share a list whose rows would be more than a part of a frame', async () => {
  const router = createIdRouter({ shards: 8 });
  const listsAt = async (width: number): Promise<number> => {
    const options = { reader: reader as LaneReader, router, model: modelOf(width) };
    return (await prepareLanes(options, 0, [0, 3, 4, 5])).unions.length;
  };
  const fitting = LIMITS.frameBytes / 4 / 4 / 12;
  expect(await listsAt(Math.floor(fitting))).toBe(4);
  expect(await listsAt(Math.ceil(fitting))).toBe(1);
});

test.each([4, 9, 10, 11, 40])('%i lanes are pulled in at most 8 lists, in which each finds its ids', async (count) => {
  const lanes = Array.from({ length: count }, (_, lane) => lane);
  const router = createIdRouter({ shards: 8 });
  const { unions, places } = await prepareLanes({ reader: reader as LaneReader, router, model: modelOf(1) }, 0, lanes);
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

test('a lane tells the model which mini-batch it has', async () => {
  const linear = createLinear();
  const places: unknown[] = [];
  const model: Model = {
    ...linear,
    step(batch, values, place) {
      places.push(place);
      return linear.step(batch, values);
    },
  };
  const router = createIdRouter({ shards: 8 });
  const batches = await prepareLanes({ reader: reader as LaneReader, router, model }, 0, [4]);
  const values = { dense: [new Float32Array(1)], sparse: [new Float32Array(3)] };
  const pulled = [{ values, routed: { version: 1 } as PulledList['routed'] }];
  const gradientCheck = new GradientCheck({ onBadGradient: 'fail' }, { warn: () => {} }, []);
  computeLane(model, batches, 4, { timeline: 0, pulled, gradientCheck, kept: new KeptLanes(model) });
  expect(places).toEqual([{ pass: 2, task: 4, batch: 6 }]);
});

test('a lane adds the same, with a list of its own or with others in one, and is routed again then', async () => {
  const model = createLinear();
  const router = createIdRouter({ shards: 8 });
  const compute = async (lanes: readonly number[], lane: number) => {
    const batches = await prepareLanes({ reader: reader as LaneReader, router, model }, 0, lanes);
    const pulled = batches.unions.map(({ ids: [list] }): PulledList => {
      const ids = [...new BigUint64Array(list!.ids.slice(0, 8 * list!.count).buffer)];
      const values = { dense: [Float32Array.of(0.5)], sparse: [Float32Array.from(ids, (id) => Number(id) / 64)] };
      return { values, routed: { version: 1 } as PulledList['routed'] };
    });
    const gradientCheck = new GradientCheck({ onBadGradient: 'fail' }, { warn: () => {} }, []);
    return computeLane(model, batches, lane, { timeline: 0, pulled, gradientCheck, kept: new KeptLanes(model) });
  };
  const many = Array.from({ length: 20 }, (_, lane) => lane);
  for (const lane of [0, 4, 19]) {
    const alone = (await compute([lane], lane)).gradients!;
    const together = (await compute(many, lane)).gradients!;
    expect([together.dense, together.sparse]).toEqual([alone.dense, alone.sparse]);
    expect([alone.routed?.version, together.routed]).toEqual([1, undefined]);
  }
});
