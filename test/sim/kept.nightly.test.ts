/** Schedules that found a fault once (kept-seeds.ts). */
import { expect, test } from 'vitest';
import { copiedMix, FIXED_MIX, KEPT_MIX, RESIZED_MIX, usualDiskMix, usualMix } from './fault-kinds.ts';
import {
  KEPT_ASYNC_SEEDS,
  KEPT_CONTINUED_SEEDS,
  KEPT_CONTINUED_SYNC_SEEDS,
  KEPT_COPIED_DISK_SEEDS,
  KEPT_COPIED_SEEDS,
  KEPT_DISK_SEEDS,
  KEPT_DISK_SYNC_SEEDS,
  KEPT_DRAWN_SEEDS,
  KEPT_DRAWN_SYNC_SEEDS,
  KEPT_RESIZED_SEEDS,
  KEPT_RESIZED_SYNC_SEEDS,
  KEPT_SEEDS,
  KEPT_SYNC_SEEDS,
} from './kept-seeds.ts';
import { runSchedule } from './schedule.ts';
import { drawFixedShape, drawShape, SMALL } from './shape.ts';

test.each(KEPT_SEEDS)('seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: KEPT_MIX, shape: SMALL })).violations).toEqual([]);
});

test.each(KEPT_DRAWN_SEEDS)('drawn shape, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: FIXED_MIX })).violations).toEqual([]);
});

test.each(KEPT_CONTINUED_SEEDS)('continued and resized, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: RESIZED_MIX, isContinued: true })).violations).toEqual([]);
});

test.each(KEPT_CONTINUED_SYNC_SEEDS)('sync mode, continued and resized, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mode: 'sync', mix: RESIZED_MIX, isContinued: true })).violations).toEqual([]);
});

test.each(KEPT_RESIZED_SEEDS)('resized, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: RESIZED_MIX })).violations).toEqual([]);
});

test.each(KEPT_DISK_SEEDS)('resized and with disks that fail, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: usualDiskMix('async') })).violations).toEqual([]);
});

test.each(KEPT_SYNC_SEEDS)('sync mode, seed $seed: $why', async ({ seed }) => {
  // They were found so.
  const shape = { ...drawFixedShape(seed), isFolderShared: true };
  expect((await runSchedule({ seed, mode: 'sync', mix: FIXED_MIX, shape })).violations).toEqual([]);
});

test.each(KEPT_RESIZED_SYNC_SEEDS)('sync mode and resized, seed $seed: $why', async ({ seed }) => {
  const shape = { ...drawShape(seed), isFolderShared: true };
  expect((await runSchedule({ seed, mode: 'sync', mix: RESIZED_MIX, shape })).violations).toEqual([]);
});

test.each(KEPT_DRAWN_SYNC_SEEDS)('sync mode, resized and drawn shape, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mode: 'sync', mix: RESIZED_MIX })).violations).toEqual([]);
});

test.each(KEPT_DISK_SYNC_SEEDS)('sync mode, resized and with disks that fail, seed $seed: $why', async ({ seed }) => {
  const shape = { ...drawShape(seed), isFolderShared: true };
  expect((await runSchedule({ seed, mode: 'sync', mix: usualDiskMix('sync'), shape })).violations).toEqual([]);
});

test.each(KEPT_ASYNC_SEEDS)('async mode, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: usualMix('async') })).violations).toEqual([]);
});

test.each(KEPT_COPIED_SEEDS)('with copies, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, isCopied: true })).violations).toEqual([]);
  expect((await runSchedule({ seed, mode: 'sync', isCopied: true })).violations).toEqual([]);
});

test.each(KEPT_COPIED_DISK_SEEDS)('with copies and disks that fail, seed $seed: $why', async ({ seed }) => {
  expect((await runSchedule({ seed, mix: copiedMix(true), isCopied: true })).violations).toEqual([]);
  expect((await runSchedule({ seed, mode: 'sync', mix: copiedMix(true), isCopied: true })).violations).toEqual([]);
});
