/** Lanes are kept in memory of earlier ones, which nothing else uses. */

import { expect, test } from 'vitest';
import { laneOfShards } from '../../../../../src/roles/pserver/modes/rounds/group-rounds.ts';
import { LaneMemory, type LaneParts } from '../../../../../src/roles/pserver/modes/rounds/lane-memory.ts';
import type { Lane } from '../../../../../src/roles/pserver/modes/rounds/lanes.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';
import { blocksPart, rowsPart } from '../../../../tensor/fixture.ts';
import { ROUND_SPEC } from '../../../../tensor/rounds.ts';

const partsOf = (value: number): LaneParts => ({
  dense: [blocksPart(0, [0], new Float32Array(3).fill(value))],
  sparse: [rowsPart(0, [1n, 2n, BigInt(value)], [value, 4, 5]), rowsPart(1, [7n], new Float32Array(6).fill(value))],
});
const NO_METRICS = { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 };

test('lanes have the content that they came with, in memory of lanes that were given back', () => {
  const memory = new LaneMemory(2);
  const [first, second] = [memory.copyOf(partsOf(30)), memory.copyOf(partsOf(40))];
  expect(first).toMatchObject(partsOf(30));
  expect(second).toMatchObject(partsOf(40));
  memory.giveBack(first);
  const third = memory.copyOf(partsOf(50));
  expect(third.memory).toBe(first.memory);
  expect([second, third]).toMatchObject([partsOf(40), partsOf(50)]);
});

test('lanes without gradients need no memory', () => {
  const memory = new LaneMemory(1);
  const empty = memory.copyOf({ dense: [], sparse: [] });
  expect(empty).toEqual({ dense: [], sparse: [], memory: undefined });
  memory.giveBack(empty);
});

test('the memory of a lane that was cut into parts is not used again', () => {
  const memory = new LaneMemory(1);
  const whole: Lane = { ...memory.copyOf(partsOf(30)), records: 1, metrics: NO_METRICS, position: undefined };
  const of = { spec: ROUND_SPEC, shards: 1, router: createIdRouter({ shards: 1 }) };
  const part = laneOfShards(of, whole, [0]);
  memory.giveBack(part);
  memory.copyOf(partsOf(50));
  expect(part).toMatchObject(partsOf(30));
});
