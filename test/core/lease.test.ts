import { describe, expect, it } from 'vitest';
import { Lease, type LeaseEvent } from '../../src/core/lease.ts';
import * as fc from '../properties.ts';

const TTL = 3_000;
const start = () => new Lease({ grantedTtlMs: TTL, sentAtMs: 0 });
const types = (effects: readonly { type: string }[]) => effects.map((effect) => effect.type);
const TICK: LeaseEvent = { type: 'tick' };
const renewed = (sentAtMs: number, grantedTtlMs = TTL): LeaseEvent => ({ type: 'renewed', sentAtMs, grantedTtlMs });

describe('one own lease', () => {
  it('is renewed at a third of its TTL, and its deadline counts from the sending', () => {
    const lease = start();
    expect(lease.nextDeadline()).toBe(1_000);
    expect(types(lease.step(TICK, 999))).toEqual([]);
    expect(types(lease.step(TICK, 1_000))).toEqual(['renew']);
    expect(types(lease.step(renewed(1_000), 1_900))).toEqual([]);
    expect(lease.deadlineMs).toBe(4_000);
    expect(lease.nextDeadline()).toBe(2_000);
  });

  it('takes the TTL that was granted', () => {
    const lease = start();
    lease.step(TICK, 1_000);
    lease.step(renewed(1_000, 9_000), 1_001);
    expect(lease.deadlineMs).toBe(10_000);
    expect(lease.nextDeadline()).toBe(4_000);
  });

  it('has one renewal in flight at a time', () => {
    const lease = start();
    expect(types(lease.step(TICK, 1_000))).toEqual(['renew']);
    expect(types(lease.step(TICK, 2_000))).toEqual([]);
    expect(lease.nextDeadline()).toBe(TTL);
  });

  it('suspends at the deadline, also with a renewal in flight, and tries on', () => {
    const lease = start();
    lease.step(TICK, 1_000);
    expect(types(lease.step({ type: 'failed' }, 2_990))).toEqual([]);
    expect(lease.nextDeadline()).toBe(TTL);
    expect(types(lease.step(TICK, TTL))).toEqual(['suspend']);
    expect(types(lease.step(TICK, 3_040))).toEqual(['renew']);
    expect(types(lease.step({ type: 'failed' }, 3_041))).toEqual([]);
    expect(lease.nextDeadline()).toBe(3_141);
  });

  it('resumes when the store still had it', () => {
    const lease = start();
    expect(types(lease.step(TICK, 5_000))).toEqual(['suspend', 'renew']);
    expect(lease.isHeld(5_000)).toBe(false);
    expect(types(lease.step(renewed(5_000), 5_100))).toEqual(['resume']);
    expect(lease.isHeld(7_999)).toBe(true);
    expect(lease.isHeld(8_000)).toBe(false);
  });

  it('does not resume by an answer whose own deadline has passed', () => {
    const lease = start();
    lease.step(TICK, 1_000);
    expect(types(lease.step(renewed(1_000), 4_500))).toEqual(['suspend', 'renew']);
    expect(lease.state).toBe('suspended');
  });

  it('notices a deadline that passed unnoticed, before it takes the answer', () => {
    const lease = start();
    lease.step(TICK, 1_000);
    // Stopped from 2900 to 3500; the renewal was sent at 1000 and answered in that time.
    expect(types(lease.step(renewed(1_000), 3_500))).toEqual(['suspend', 'resume', 'renew']);
  });

  it('is lost when the store says so, once and for all', () => {
    const lease = start();
    lease.step(TICK, 1_000);
    expect(types(lease.step({ type: 'gone' }, 1_001))).toEqual(['lose']);
    expect(lease.isHeld(1_001)).toBe(false);
    expect(lease.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
    for (const event of [TICK, renewed(1_001), { type: 'gone' } as const]) {
      expect(lease.step(event, 1_002)).toEqual([]);
    }
  });

  it('retries with growing, bounded pauses', () => {
    const lease = start();
    let now = 1_000;
    const pauses = [];
    for (let i = 0; i < 8; i++) {
      lease.step(TICK, now);
      lease.step({ type: 'failed' }, now);
      if (now >= TTL) pauses.push(lease.nextDeadline() - now);
      now = Math.max(lease.nextDeadline(), now + 300);
    }
    // An eighth of the TTL, so that a store that recovers is found in time.
    expect(Math.max(...pauses)).toBe(375);
    expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
  });

  it('never claims to hold what a slower clock at the store could have ended', () => {
    const kinds = fc.constantFrom('tick' as const, 'answer' as const, 'failed' as const);
    const steps = fc.array(fc.record({ kind: kinds, afterMs: fc.nat(2_000) }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (schedule) => {
        const lease = start();
        let now = 0;
        let sentAtMs: number | undefined;
        let provenUntilMs = TTL;
        let isActive = true;
        for (const { kind, afterMs } of schedule) {
          now += afterMs;
          let event: LeaseEvent = TICK;
          if (sentAtMs !== undefined && kind !== 'tick') {
            event = kind === 'failed' ? { type: 'failed' } : renewed(sentAtMs);
            if (kind === 'answer') provenUntilMs = sentAtMs + TTL;
            sentAtMs = undefined;
          }
          for (const effect of lease.step(event, now)) {
            if (effect.type === 'renew') {
              expect(sentAtMs).toBeUndefined();
              sentAtMs = now;
            } else {
              // Suspend and resume alternate.
              expect(effect.type).toBe(isActive ? 'suspend' : 'resume');
              isActive = !isActive;
            }
          }
          expect(lease.isHeld(now)).toBe(isActive);
          expect(lease.isHeld(now)).toBe(now < provenUntilMs);
          // It can always go on: an answer is awaited, or a tick is due.
          expect(sentAtMs !== undefined || Number.isFinite(lease.nextDeadline())).toBe(true);
        }
      }),
    );
  });
});
