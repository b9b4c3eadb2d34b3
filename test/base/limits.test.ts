/** How the bounds relate to each other. */
import { expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { roomOfPart } from '../../src/core/replicas/peer-link.ts';
import { denseBlockFloats } from '../../src/tensor/blocks.ts';

it('every bound is a positive whole number', () => {
  for (const [name, value] of Object.entries(LIMITS)) {
    expect(Number.isSafeInteger(value) && value > 0, `${name} is ${value}`).toBe(true);
  }
});

it('a frame has room for its header and its table of segments, and a connection for a frame each way', () => {
  expect(LIMITS.frameHeaderBytes + 4 * LIMITS.frameSegments).toBeLessThan(LIMITS.frameBytes);
  expect(LIMITS.sendQueueBytes).toBeGreaterThanOrEqual(2 * LIMITS.frameBytes);
  expect(LIMITS.heldBytes).toBeGreaterThanOrEqual(4 * LIMITS.sendQueueBytes);
});

it('a value with its key fits into a transaction of the store', () => {
  expect(LIMITS.storeValueBytes + LIMITS.storeKeyBytes).toBeLessThanOrEqual(LIMITS.storeTxnBytes);
});

it('a checkpoint file has room for a record of a job that the store takes, as a text in the text of its header', () => {
  expect(LIMITS.carriedJobCharacters).toBeGreaterThan(LIMITS.storeValueBytes + 100_000);
  // A character takes up to three bytes, or is escaped by one.
  expect(3 * LIMITS.carriedJobCharacters).toBeLessThan(LIMITS.safetensorsHeaderBytes / 2);
});

it('every pserver can have a shard, and a trainer may hold more attempts than it is given', () => {
  expect(LIMITS.shards).toBeGreaterThanOrEqual(LIMITS.pservers);
  expect(LIMITS.heldAttempts).toBeGreaterThan(LIMITS.tasksHeld);
});

it('a slice of repairs is at most a pass more than it wants, and fits into a Map', () => {
  expect(LIMITS.repairedTasks + LIMITS.tasks).toBeLessThan(2 ** 24);
});

it('a record fits into a frame', () => {
  expect(LIMITS.recordBytes).toBeLessThan(LIMITS.frameBytes);
});

it('a piece of a shard has room for the largest row and the largest block, with all that an optimizer keeps', () => {
  const perValue = 4 * (1 + LIMITS.optimizerSlots);
  const idAndCount = 12;
  expect(LIMITS.movePieceBytes).toBeGreaterThanOrEqual(LIMITS.rowWidth * perValue + idAndCount);
  expect(LIMITS.movePieceBytes).toBeGreaterThanOrEqual(denseBlockFloats * perValue + idAndCount);
  expect(LIMITS.movePieceBytes).toBeLessThan(LIMITS.frameBytes);
});

it('a batch to a backup has room for the largest update, and for all that a window holds in a beginning', () => {
  const frames = LIMITS.units * 6 * 8 + LIMITS.replicaTailRuns * 2 * 8;
  const table = 4 * LIMITS.frameSegments;
  const rest = LIMITS.frameHeaderBytes + table + 8 * LIMITS.frameSegments + frames;
  expect(LIMITS.replicatedBytes + rest).toBeLessThanOrEqual(LIMITS.frameBytes);
  // With what a former primary had staged, in a window like this one's.
  expect(LIMITS.replicaTails * roomOfPart(0)).toBeGreaterThanOrEqual(2 * LIMITS.replicaWindowBytes);
});
