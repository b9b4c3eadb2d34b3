/** What `status` says of the rounds of a job in mode sync. */
import { describe, expect, it } from 'vitest';
import { type RoundsStanding, roundsText } from '../../../src/commands/base/status-text-rounds.ts';

const STANDING: RoundsStanding = {
  total: 400,
  round: 85,
  pass: 2,
  ofPass: { round: 5, rounds: 40 },
  records: 68_000,
  lanes: [['a'], ['a'], ['b'], ['a'], ['b', 'c']],
  helped: 0,
  pservers: [
    { index: 0, timeline: 0, version: 85, missing: [0, 1, 2, 3, 4], waitedMs: 20 },
    { index: 1, timeline: 0, version: 85, missing: [3], waitedMs: 30 },
  ],
  timeline: 0,
  cut: { round: 71, files: 2 },
  cuts: { complete: 3, givenUp: 0 },
};
const textOf = (change: Partial<RoundsStanding>): string[] => roundsText({ ...STANDING, ...change }, 10, 'that is why');

describe('the text of status', () => {
  it('has round, lanes by their trainers, and the last cut', () => {
    expect(textOf({})).toEqual([
      'pass 3 of 10, round 85 of 400, 5 of 40 in the pass',
      'lanes 0-1, 3: trainer a',
      'lanes 2: trainer b',
      'lanes 4: trainer b and c',
      'last cut: round 71, 2 files',
    ]);
  });

  it('names the lanes that a round lacks for long, where, and why', () => {
    const pservers = STANDING.pservers.map((one) => ({ ...one, waitedMs: one.index === 0 ? 2_340 : 999 }));
    expect(textOf({ pservers }).slice(-2)).toEqual([
      'pserver 0: round 85 lacks lanes 0-4 for 2.3 s',
      'waiting: that is why',
    ]);
  });

  it('says so while nobody has lanes, or not all pservers are there', () => {
    expect(textOf({ lanes: [[], []] })).toContain('lanes 0-1: nobody');
    expect(textOf({ lanes: [[], []] }).at(-1)).toBe('waiting: that is why');
    const { round, pass, ofPass, records, ...unknown } = STANDING;
    expect(roundsText(unknown, 10, 'that is why')).toEqual([
      'lanes 0-1, 3: trainer a',
      'lanes 2: trainer b',
      'lanes 4: trainer b and c',
      'last cut: round 71, 2 files',
      'waiting: that is why',
    ]);
  });

  it('tells of a rollback, of a cut that is being saved, and of help', () => {
    const text = textOf({ timeline: 2, cutting: 90, helped: 4, cut: { round: 0, files: 0 } });
    expect(text).toContain('late lanes that a second trainer was asked to compute too: 4');
    expect(text).toContain('last cut: none yet; round 90 is being saved; timeline 2');
  });

  it('counts passes to the last', () => {
    expect(textOf({ round: 400, pass: 10 })[0]).toBe('pass 10 of 10, round 400 of 400, 5 of 40 in the pass');
  });
});
