/** When units go that are due only because sizes have changed. */
import { beforeEach, expect, it } from 'vitest';
import { GROWN_MS, Growth } from '../../../src/core/units/growth.ts';

const AT_ONCE = Number.NEGATIVE_INFINITY;
const NOTHING = { isDue: false, isMoving: false };
const DUE = { isDue: true, isMoving: false };

let growth: Growth;

beforeEach(() => {
  growth = new Growth();
});

it('lets units go at once until all was even', () => {
  expect(growth.observe(DUE, 0)).toBe(AT_ONCE);
  expect(growth.observe({ isDue: false, isMoving: true }, 10)).toBe(AT_ONCE);
  expect(growth.observe({ isDue: true, isMoving: true }, 20)).toBe(AT_ONCE);
});

it('lets a share that was even be too large for a while', () => {
  growth.observe(NOTHING, 0);
  expect(growth.observe(DUE, 100)).toBe(100 + GROWN_MS);
  expect(growth.observe({ isDue: true, isMoving: true }, 4_000)).toBe(100 + GROWN_MS);
});

it('counts the time again when nothing was due in between', () => {
  growth.observe(NOTHING, 0);
  growth.observe(DUE, 100);
  growth.observe({ isDue: false, isMoving: true }, 200);
  expect(growth.observe(DUE, 300)).toBe(300 + GROWN_MS);
});

it('lets units go at once again when the cluster has changed', () => {
  growth.observe(NOTHING, 0);
  growth.observe(DUE, 100);
  growth.clusterChanged();
  expect(growth.observe(DUE, 200)).toBe(AT_ONCE);
  growth.observe(NOTHING, 300);
  expect(growth.observe(DUE, 400)).toBe(400 + GROWN_MS);
});
