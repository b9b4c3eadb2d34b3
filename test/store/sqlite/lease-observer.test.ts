import { describe, expect, it } from 'vitest';
import { LeaseObserver } from '../../../src/store/sqlite/lease-observer.ts';

const TTL = 1_000;
const lease = (renewals: bigint, id = 1n) => ({ id, ttlMs: TTL, renewals });

/** Polls every 20 ms from `from` up to `to`, with nothing new; the time at which something was due first. */
function poll(observer: LeaseObserver, from: number, to: number): number | undefined {
  for (let now = from; now <= to; now += 20) {
    if (observer.observe(now, now, undefined).length > 0) return now;
    if (observer.wantsProof(now)) observer.proven(now, now);
  }
  return undefined;
}

describe('LeaseObserver', () => {
  it('expires a lease that it has watched unchanged for one TTL', () => {
    const observer = new LeaseObserver();
    expect(observer.observe(0, 0, [lease(0n)])).toEqual([]);
    expect(poll(observer, 20, 5_000)).toBe(TTL);
    expect(observer.observe(1_020, 1_020, undefined)).toMatchObject([{ id: 1n, renewals: 0n }]);
  });

  it('starts again at each renewal, even when another lease changed', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n)]);
    expect(poll(observer, 20, 480)).toBeUndefined();
    observer.observe(500, 500, [lease(1n), lease(0n, 2n)]);
    expect(poll(observer, 520, 780)).toBeUndefined();
    observer.observe(800, 800, [lease(1n), lease(1n, 2n)]);
    expect(poll(observer, 820, 5_000)).toBe(1_500);
  });

  it('starts again after a gap in its polling: who stopped it may have stopped the owner', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n)]);
    expect(poll(observer, 20, 980)).toBeUndefined();
    expect(poll(observer, 60_000, 60_980)).toBeUndefined();
    expect(poll(observer, 61_000, 65_000)).toBe(61_000);
  });

  it('counts from after the reading and up to before it', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 100, [lease(0n)]);
    expect(poll(observer, 120, 1_080)).toBeUndefined();
    expect(observer.observe(1_099, 1_150, undefined)).toEqual([]);
    expect(observer.observe(1_160, 1_160, undefined)).toHaveLength(1);
  });

  it('counts a stall inside its own reading as a gap', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n)]);
    expect(poll(observer, 20, 900)).toBeUndefined();
    expect(observer.observe(920, 5_000, undefined)).toEqual([]);
    expect(poll(observer, 5_020, 9_000)).toBe(6_000);
  });

  it('expires nothing without a write of its own late in the TTL', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n)]);
    for (let now = 20; now <= 5_000; now += 20) expect(observer.observe(now, now, undefined)).toEqual([]);
    expect(observer.wantsProof(660)).toBe(false);
    expect(observer.wantsProof(680)).toBe(true);
    observer.proven(660, 680);
    expect(observer.observe(5_020, 5_020, undefined)).toEqual([]);
    observer.proven(680, 680);
    expect(observer.observe(5_040, 5_040, undefined)).toHaveLength(1);
  });

  it('starts again when it was locked out for long: so was the owner', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n)]);
    expect(poll(observer, 20, 980)).toBeUndefined();
    observer.lockedOut(800, 990);
    expect(observer.isDue(lease(0n), 1_000)).toBe(true);
    observer.lockedOut(700, 1_000);
    expect(observer.isDue(lease(0n), 1_500)).toBe(false);
    expect(poll(observer, 1_020, 5_000)).toBe(2_000);
  });

  it('leaves the owner a quarter of the TTL after a write that took long', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n)]);
    for (let now = 20; now < 980; now += 20) observer.observe(now, now, undefined);
    observer.proven(700, 980);
    expect(observer.observe(1_000, 1_000, undefined)).toEqual([]);
    expect(observer.observe(1_220, 1_220, undefined)).toEqual([]);
    expect(observer.observe(1_230, 1_230, undefined)).toHaveLength(1);
  });

  it('starts all counts again after a write that failed: there was no room for the owners either', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n), lease(0n, 2n)]);
    expect(poll(observer, 20, 980)).toBeUndefined();
    observer.failed(990);
    expect(poll(observer, 1_000, 5_000)).toBe(2_000);
    expect(observer.observe(2_020, 2_020, undefined)).toHaveLength(2);
  });

  it('forgets leases that are gone', () => {
    const observer = new LeaseObserver();
    observer.observe(0, 0, [lease(0n), lease(0n, 2n)]);
    observer.observe(20, 20, [lease(0n, 2n)]);
    expect(poll(observer, 40, 5_000)).toBe(TTL);
    expect(observer.observe(1_020, 1_020, undefined)).toHaveLength(1);
  });
});
