/** What `status` says of the rounds of a job in sync mode. */
import { describe, expect, it } from 'vitest';
import { roundsText } from '../../../src/commands/status/status-text-rounds.ts';
import type { RoundsInfo } from '../../../src/view/info.ts';
import { ROUNDS } from '../../cluster/role-infos.ts';

const JOB = { passes: 10, waitReason: 'that is why' };
const textOf = (change: Partial<RoundsInfo>): string[] => roundsText({ rounds: { ...ROUNDS, ...change }, ...JOB }, []);

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

  it('names the lanes that a round has waited for long, where, and why', () => {
    const pservers = ROUNDS.pservers.map((one) => ({ ...one, waitedMs: one.index === 0 ? 2_340 : 999 }));
    expect(textOf({ pservers }).slice(-2)).toEqual([
      'pserver 0: round 85 has waited 2.3 s for lanes 0-4',
      'waiting: that is why',
    ]);
  });

  it('says so while no trainer has lanes, or a pserver is missing', () => {
    expect(textOf({ lanes: [[], []] })).toContain('lanes 0-1: no trainer');
    expect(textOf({ lanes: [[], []] }).at(-1)).toBe('waiting: that is why');
    const { round, pass, ofPass, records, ...unknown } = ROUNDS;
    expect(roundsText({ rounds: unknown, ...JOB }, [])).toEqual([
      'lanes 0-1, 3: trainer a',
      'lanes 2: trainer b',
      'lanes 4: trainer b and c',
      'last cut: round 71, 2 files',
      'waiting: that is why',
    ]);
  });

  it('tells of a rollback, of a cut that is being saved, and of help', () => {
    const text = textOf({ timeline: 2, cutting: 90, helped: 4, cut: { round: 0, files: 0 } });
    expect(text).toContain('late lanes that a second trainer was asked to compute as well: 4');
    expect(text).toContain('last cut: none yet; round 90 is being saved; timeline 2');
  });

  it('counts passes to the last', () => {
    expect(textOf({ round: 400, pass: 10 })[0]).toBe('pass 10 of 10, round 400 of 400, 5 of 40 in the pass');
  });
});
