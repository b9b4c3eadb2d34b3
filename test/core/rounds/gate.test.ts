/**
 * Which lanes a pserver takes and which versions it can give (docs/modes.md). `round-model.test.ts` has two of them
 * and all that can happen.
 */

import { describe, expect, it } from 'vitest';
import { createRoundGate, type RoundGate } from '../../../src/core/rounds/gate.ts';
import * as fc from '../../properties.ts';

const gateAt = (version: number, lanes = 3): RoundGate => createRoundGate({ timeline: 2, version, lanes });

function take(gate: RoundGate, ...lanes: number[]): void {
  for (const lane of lanes) if (gate.accepted(lane)) gate.advance();
}

const judged = (gate: RoundGate, round: number, lane: number): string => gate.judgeLane({ timeline: 2, round, lane });
const pulled = (gate: RoundGate, version: number): string => gate.judgePull({ timeline: 2, version });

describe('the gate of a pserver', () => {
  it('takes each lane of the round in work once, in any order', () => {
    const gate = gateAt(5);
    expect(judged(gate, 5, 2)).toBe('take');
    take(gate, 2);
    expect(judged(gate, 5, 2)).toBe('duplicate');
    expect(gate.missing()).toEqual([0, 1]);
    expect(judged(gate, 4, 0)).toBe('duplicate');
    expect(judged(gate, 6, 0)).toBe('ahead');
    take(gate, 0, 1);
    expect(gate.version()).toBe(6);
    expect(gate.missing()).toEqual([0, 1, 2]);
    expect(judged(gate, 5, 0)).toBe('duplicate');
    expect(judged(gate, 6, 0)).toBe('take');
  });

  it('gives the current version, and the one before until a lane shows that it is not needed', () => {
    const gate = gateAt(5);
    expect([4, 5, 6].map((version) => pulled(gate, version))).toEqual(['gone', 'current', 'wait']);
    expect(gate.oldest()).toBe(5);
    take(gate, 0, 1, 2);
    expect([4, 5, 6, 7].map((version) => pulled(gate, version))).toEqual(['gone', 'previous', 'current', 'wait']);
    expect(gate.oldest()).toBe(5);
    take(gate, 1);
    expect([5, 6, 7].map((version) => pulled(gate, version))).toEqual(['gone', 'current', 'wait']);
    expect(gate.oldest()).toBe(6);
  });

  it('knows one timeline', () => {
    const gate = gateAt(5);
    for (const timeline of [1, 3]) {
      expect(gate.judgeLane({ timeline, round: 5, lane: 0 })).toBe('otherTimeline');
      expect(gate.judgePull({ timeline, version: 5 })).toBe('otherTimeline');
    }
  });

  it('of one lane is a round a push', () => {
    const gate = gateAt(0, 1);
    take(gate, 0);
    expect(gate.version()).toBe(1);
    expect(pulled(gate, 0)).toBe('previous');
    take(gate, 0);
    expect([gate.version(), gate.oldest()]).toEqual([2, 1]);
  });

  it('does not take what it was not asked about', () => {
    const gate = gateAt(0);
    take(gate, 1);
    expect(() => gate.accepted(1)).toThrow('a lane is taken once a round');
    expect(() => gate.accepted(3)).toThrow('a lane is taken once a round');
    expect(() => gate.advance()).toThrow('a round is applied when all its lanes are there');
  });

  it('applies every lane of every round once, whatever comes however often', () => {
    const lane = fc.record({ round: fc.nat(5), lane: fc.nat(2) });
    fc.assert(
      fc.property(fc.array(lane, { maxLength: 200, size: 'max' }), (pushes) => {
        const gate = gateAt(0);
        const taken: string[] = [];
        for (const push of pushes) {
          const verdict = judged(gate, push.round, push.lane);
          const isPast = push.round < gate.version() || taken.includes(`${push.round}/${push.lane}`);
          expect(verdict).toBe(isPast ? 'duplicate' : push.round > gate.version() ? 'ahead' : 'take');
          if (verdict !== 'take') continue;
          taken.push(`${push.round}/${push.lane}`);
          take(gate, push.lane);
          expect(gate.version()).toBe(Math.floor(taken.length / 3));
          expect(gate.missing()).toHaveLength(3 - (taken.length % 3));
        }
      }),
    );
  });
});
