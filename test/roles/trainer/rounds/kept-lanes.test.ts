import { expect, test } from 'vitest';
import { LaneDelivery, type LanePush } from '../../../../src/cluster/client/lane-sender.ts';
import { KeptLanes, MOST_KEPT_BYTES } from '../../../../src/roles/trainer/rounds/kept-lanes.ts';

/** Gradients that only say how large they are. */
const gradientsOf = (byteLength: number) => ({ dense: [{ byteLength } as Float32Array], sparse: [], ids: [] });
const laneOf = (byteLength: number): LaneDelivery =>
  new LaneDelivery({ gradients: gradientsOf(byteLength) } as unknown as LanePush);

test('there is room for so many bytes of gradients, and again when lanes are given back', () => {
  const kept = new KeptLanes({});
  const half = MOST_KEPT_BYTES / 2;
  const [first, second] = [laneOf(half), laneOf(half - 1)];
  kept.add(first);
  kept.add(second);
  kept.add(new LaneDelivery({ gradients: undefined } as unknown as LanePush));
  expect([1, 2].map((bytes) => kept.hasRoom(gradientsOf(bytes)))).toEqual([true, false]);
  kept.restrict([second]);
  expect([half + 1, half + 2].map((bytes) => kept.hasRoom(gradientsOf(bytes)))).toEqual([true, false]);
  kept.restrict([]);
  expect([MOST_KEPT_BYTES, MOST_KEPT_BYTES + 1].map((bytes) => kept.hasRoom(gradientsOf(bytes)))).toEqual([
    true,
    false,
  ]);
});
