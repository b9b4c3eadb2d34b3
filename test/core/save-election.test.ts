/** Of the trainers that ask to save the model within the block time exactly one is chosen. */

import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import {
  createSaveElection,
  type SavedElection,
  type SaveElection,
  saveLimitMs,
} from '../../src/core/save-election.ts';
import * as fc from '../properties.ts';

const BLOCK = 100;
const MAX_BLOCK = 6_000;
const PASSES = 5;

const electionOf = (ended: number, from?: SavedElection, at = 0): SaveElection =>
  createSaveElection({
    from: from && (JSON.parse(JSON.stringify(from)) as SavedElection),
    passes: PASSES,
    ended,
    at,
    maxBlockMs: MAX_BLOCK,
  });

it('three trainers and a restarted one ask: exactly one is chosen', () => {
  const election = electionOf(1);
  const asked = ['a', 'b', 'c', 'b2'].map((trainer, i) => election.request(trainer, BLOCK, 10 * i).chosen);
  expect(asked).toEqual([{ pass: 1, choice: 1 }, undefined, undefined, undefined]);
  // The chosen one is told so again, and keeps its choice.
  expect(election.request('a', BLOCK, 50)).toEqual({ chosen: { pass: 1, choice: 1 }, changed: false });
  expect(election.keep(1, 90)).toEqual({ chosen: { pass: 1, choice: 1 }, changed: false });
  expect(election.request('b', BLOCK, 150).chosen).toBeUndefined();
  expect(election.wrote(1, 1)).toBe(true);
  expect(election.request('b', BLOCK, 160).chosen).toBeUndefined();
  expect(election.isWanted(1000)).toBe(false);
});

it('when the chosen one falls silent, another is chosen after the block time', () => {
  const election = electionOf(1);
  election.request('a', BLOCK, 0);
  expect(election.nextDeadline()).toBe(BLOCK);
  expect(election.request('b', BLOCK, BLOCK - 1).chosen).toBeUndefined();
  expect(election.isWanted(BLOCK)).toBe(true);
  const silent = { trainer: 'a', pass: 1, choice: 1, blockMs: BLOCK };
  expect(election.request('b', BLOCK, BLOCK)).toEqual({ chosen: { pass: 1, choice: 2 }, changed: true, silent });
  expect(election.request('a', BLOCK, BLOCK + 1).chosen).toBeUndefined();
  expect(election.keep(1, BLOCK + 1).chosen).toBeUndefined();
  // The first one was only slow: its file is whole too.
  expect(election.wrote(1, 1)).toBe(true);
  expect(election.wrote(1, 2)).toBe(false);
});

it('to keep a choice is not to ask for another', () => {
  const election = electionOf(1);
  election.request('a', BLOCK, 0);
  election.wrote(1, 1);
  election.passesEnded(2);
  expect(election.keep(1, 10)).toEqual({ chosen: undefined, changed: false });
  expect(election.isWanted(10)).toBe(true);
});

it('a new master keeps the choice, for a whole block time', () => {
  const first = electionOf(2);
  first.request('a', BLOCK, 0);
  const second = electionOf(2, first.state(), 5_000);
  expect(second.request('b', BLOCK, 5_000 + BLOCK - 1).chosen).toBeUndefined();
  expect(second.keep(1, 5_000 + BLOCK - 1).chosen).toEqual({ pass: 2, choice: 1 });
  expect(second.wrote(2, 1)).toBe(true);
  expect(electionOf(2, second.state()).isWanted(0)).toBe(false);
});

it('nothing is to be saved before a pass has ended; of several the newest', () => {
  const election = electionOf(0);
  expect(election.request('a', BLOCK, 0).chosen).toBeUndefined();
  election.passesEnded(1);
  election.passesEnded(3);
  expect(election.request('a', BLOCK, 0).chosen).toEqual({ pass: 3, choice: 1 });
  election.passesEnded(4);
  expect(election.request('a', BLOCK, 1).chosen).toEqual({ pass: 3, choice: 1 });
  election.wrote(3, 1);
  expect(election.request('b', BLOCK, 2).chosen).toEqual({ pass: 4, choice: 2 });
});

it('one that could not write gives way at once', () => {
  const election = electionOf(1);
  election.request('a', BLOCK, 0);
  expect(election.failed(7)).toBe(false);
  expect(election.failed(1)).toBe(true);
  expect(election.request('b', BLOCK, 1).chosen).toEqual({ pass: 1, choice: 2 });
});

it('one whose registration ends gives way at once', () => {
  const election = electionOf(1);
  election.request('a', BLOCK, 0);
  expect(election.gone('b')).toBe(false);
  expect(election.gone('a')).toBe(true);
  expect(election.keep(1, 1).chosen).toBeUndefined();
  expect(election.request('b', BLOCK, 1).chosen).toEqual({ pass: 1, choice: 2 });
});

describe('one that renews its choice and never writes', () => {
  const END = saveLimitMs(0, 0);

  /** Trainer `a` is chosen at 0, and renews in time until then. */
  function renewed(until: number): SaveElection {
    const election = electionOf(1);
    election.request('a', MAX_BLOCK, 0);
    for (let now = 0; now < until; now += MAX_BLOCK / 2) {
      const again = now % MAX_BLOCK === 0 ? election.keep(1, now) : election.request('a', MAX_BLOCK, now);
      expect(again.chosen).toEqual({ pass: 1, choice: 1 });
      expect(election.overdue(now)).toBeUndefined();
    }
    return election;
  }

  it('keeps the choice for so long and no longer', () => {
    const election = renewed(END);
    expect(election.nextDeadline()).toBe(END);
    expect(election.request('b', BLOCK, END - 1).chosen).toBeUndefined();
    expect(election.keep(1, END).chosen).toBeUndefined();
    expect(election.isWanted(END)).toBe(true);
    expect(election.request('b', BLOCK, END).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('lets another one go first', () => {
    const election = renewed(END);
    election.roster(['a', 'b']);
    expect(election.overdue(END)).toEqual({ trainer: 'a', pass: 1, choice: 1, blockMs: MAX_BLOCK });
    expect(election.overdue(END)).toBeUndefined();
    expect(election.request('a', MAX_BLOCK, END).chosen).toBeUndefined();
    expect(election.request('a', MAX_BLOCK, END + MAX_BLOCK - 1).chosen).toBeUndefined();
    expect(election.request('b', BLOCK, END + MAX_BLOCK - 1).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('is chosen again only by a new number', () => {
    expect(renewed(END).request('a', MAX_BLOCK, END).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('is chosen again when no other one asks', () => {
    const election = renewed(END);
    election.joined('b');
    election.overdue(END);
    expect(election.request('a', MAX_BLOCK, END).chosen).toBeUndefined();
    expect(election.request('a', MAX_BLOCK, END + MAX_BLOCK).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('may have written the model all the same', () => {
    const election = renewed(END);
    election.overdue(END);
    expect(election.wrote(1, 1)).toBe(true);
    expect(election.isWanted(END)).toBe(false);
  });
});

describe('the time of a choice', () => {
  const GB = 1e9;

  it('follows the size of the model: a minute, and its bytes at 2 MB/s', () => {
    expect(saveLimitMs(0, 0)).toBe(60_000);
    expect(saveLimitMs(2 * GB, 0)).toBe(60_000 + 1_000_000);
    expect(saveLimitMs(2 * GB, 2)).toBe(4 * (60_000 + 1_000_000));
    expect(saveLimitMs(1e15, 0)).toBe(LIMITS.saveModelMs);
    expect(saveLimitMs(0, 1_000)).toBe(LIMITS.saveModelMs);
  });

  it('is longer once the size is known, and not for another choice', () => {
    const election = electionOf(1);
    election.request('a', MAX_BLOCK, 0);
    election.sized(2, 5 * GB);
    expect(election.overdue(saveLimitMs(0, 0) - 1)).toBeUndefined();
    election.sized(1, GB);
    expect(election.overdue(saveLimitMs(GB, 0) - 1)).toBeUndefined();
    expect(election.overdue(saveLimitMs(GB, 0))).toMatchObject({ trainer: 'a' });
  });

  it('blocks others for the whole block time once the size is known', () => {
    const election = createSaveElection({ from: undefined, passes: 2, ended: 1, at: 0, maxBlockMs: 1e9 });
    election.request('a', 200_000, 0);
    expect(election.nextDeadline()).toBe(60_000);
    election.sized(1, GB);
    expect(election.nextDeadline()).toBe(200_000);
  });

  it('doubles for a trainer that missed it, and is as before once it has written', () => {
    const election = electionOf(1);
    let now = 0;
    for (const failures of [0, 1, 2]) {
      expect(election.request('a', MAX_BLOCK, now).chosen).toBeDefined();
      expect(election.overdue(now + saveLimitMs(0, failures) - 1)).toBeUndefined();
      now += saveLimitMs(0, failures);
      expect(election.overdue(now)).toBeDefined();
    }
    // One that is cut off has its model accepted at its next choice.
    const { pass, choice } = election.request('a', MAX_BLOCK, now).chosen!;
    expect(election.wrote(pass, choice)).toBe(true);
    election.passesEnded(2);
    election.request('a', MAX_BLOCK, now);
    expect(election.overdue(now + saveLimitMs(0, 0))).toBeDefined();
  });
});

describe('of those that ask, who was chosen and did not write is chosen last', () => {
  /** `a` failed twice, `b` once, `c` never. */
  function tried(): SaveElection {
    const election = electionOf(1);
    election.roster(['a']);
    for (const trainer of ['a', 'a', 'b']) {
      election.joined(trainer);
      const { choice } = election.request(trainer, BLOCK, 0).chosen!;
      expect(election.failed(choice)).toBe(true);
    }
    election.joined('c');
    return election;
  }
  const asks = (election: SaveElection, trainer: string, now: number): boolean =>
    election.request(trainer, BLOCK, now).chosen !== undefined;

  it('in any order of their requests', () => {
    const election = tried();
    expect([asks(election, 'a', 0), asks(election, 'b', 1), asks(election, 'c', 2)]).toEqual([false, false, true]);
    election.gone('c');
    expect([asks(election, 'a', 3), asks(election, 'b', 4)]).toEqual([false, true]);
    election.gone('b');
    // No other one is left.
    expect(asks(election, 'a', 5)).toBe(true);
  });

  it('for as long as a block time, from its first request', () => {
    const election = tried();
    expect([asks(election, 'a', 1_000), asks(election, 'a', 1_000 + MAX_BLOCK - 1)]).toEqual([false, false]);
    expect(asks(election, 'a', 1_000 + MAX_BLOCK)).toBe(true);
  });

  it('after it fell silent too', () => {
    const election = electionOf(1);
    election.roster(['a', 'b', 'c']);
    expect(asks(election, 'a', 0)).toBe(true);
    expect(asks(election, 'b', BLOCK)).toBe(true);
    expect([asks(election, 'a', 2 * BLOCK), asks(election, 'c', 2 * BLOCK)]).toEqual([false, true]);
  });

  it('not when it is gone and its id with it: the roster says so too', () => {
    const election = tried();
    election.roster(['a']);
    expect(asks(election, 'a', 0)).toBe(true);
  });
});

it('a stored block time is bounded too', () => {
  const first = electionOf(1);
  first.request('a', BLOCK, 0);
  const state = first.state();
  const second = electionOf(1, { ...state, chosen: { ...state.chosen!, blockMs: 1_000 * MAX_BLOCK } });
  expect(second.nextDeadline()).toBe(MAX_BLOCK);
});

describe('the model after the last pass', () => {
  it('is wanted when training has ended, not when the pass has', () => {
    const election = electionOf(PASSES);
    election.passesEnded(PASSES);
    expect(election.request('a', BLOCK, 0).chosen).toEqual({ pass: PASSES - 1, choice: 1 });
    election.wrote(PASSES - 1, 1);
    expect(election.isWanted(0)).toBe(false);
    election.trained(PASSES);
    expect(election.request('a', BLOCK, 0).chosen).toEqual({ pass: PASSES, choice: 2 });
    expect(election.wrote(PASSES, 2)).toBe(true);
    expect(election.isWanted(1000)).toBe(false);
  });

  it('is written again when a pserver was restored, and not by who was chosen before', () => {
    const election = electionOf(PASSES);
    election.trained(PASSES);
    const before = election.request('a', BLOCK, 0).chosen!;
    election.overtaken();
    expect(election.keep(before.choice, 1).chosen).toBeUndefined();
    expect(election.wrote(PASSES, before.choice)).toBe(false);
    expect(election.request('a', BLOCK, 1).chosen?.pass).toBe(PASSES - 1);
    election.trained(PASSES);
    expect(election.wrote(PASSES, before.choice)).toBe(false);
    election.wrote(PASSES - 1, 2);
    const after = election.request('b', BLOCK, 2).chosen!;
    expect(after.pass).toBe(PASSES);
    expect(election.wrote(PASSES, after.choice)).toBe(true);
    election.overtaken();
    expect(election.state().saved).toBe(PASSES - 1);
    election.trained(PASSES);
    expect(election.isWanted(3)).toBe(true);
  });

  it('is written again for a new master, which does not know what happened before it', () => {
    const first = electionOf(PASSES);
    first.trained(PASSES);
    const before = first.request('a', BLOCK, 0).chosen!;
    const second = electionOf(PASSES, first.state());
    second.trained(PASSES);
    expect(second.keep(before.choice, 1).chosen).toBeUndefined();
    expect(second.wrote(PASSES, before.choice)).toBe(false);
    expect(second.request('b', BLOCK, 1).chosen).toEqual({ pass: PASSES, choice: before.choice + 1 });
    second.wrote(PASSES, before.choice + 1);
    const third = electionOf(PASSES, second.state());
    third.trained(PASSES);
    expect(third.isWanted(0)).toBe(true);
  });
});

describe('a job that ends early', () => {
  it('has its last model written once more, as that of its last pass may not have been final', () => {
    const election = electionOf(2);
    election.request('a', BLOCK, 0);
    expect(election.wrote(2, 1)).toBe(true);
    election.trained(2);
    expect(election.request('b', BLOCK, 1).chosen).toEqual({ pass: 2, choice: 2 });
    expect(election.wrote(2, 1)).toBe(false);
    expect(election.wrote(2, 2)).toBe(true);
    expect(election.isWanted(1000)).toBe(false);
    expect(election.state().saved).toBe(2);
  });
});

it('two are never chosen at a time, whichever trainer asks, falls silent or dies, even across masters', () => {
  const action = fc.tuple(
    fc.constantFrom('ask', 'keep', 'wrote', 'takeover', 'pass', 'trained', 'overtaken'),
    fc.nat(3),
    fc.nat(60),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      let election = electionOf(0);
      let now = 0;
      let passes = 0;
      /** How often the model was final, or another one. */
      let edition = 0;
      let isFinal = false;
      let holder: { trainer: string; until: number } | undefined;
      const told = new Map<string, { pass: number; choice: number; edition: number }>();
      const forget = (): void => {
        if (election.state().chosen === undefined) holder = undefined;
      };
      for (const [what, who, wait] of actions) {
        now += wait;
        const trainer = `t${who}`;
        const mine = told.get(trainer);
        if (what === 'pass') election.passesEnded(++passes);
        else if (what === 'trained' && !isFinal) {
          election.trained(PASSES);
          edition += 1;
          isFinal = true;
        } else if (what === 'overtaken' && isFinal) {
          election.overtaken();
          isFinal = false;
          forget();
        } else if (what === 'wrote' && mine !== undefined) {
          const isTaken = election.wrote(mine.pass, mine.choice);
          if (isTaken && mine.pass === PASSES)
            expect({ isFinal, edition }).toEqual({ isFinal: true, edition: mine.edition });
          told.delete(trainer);
          forget();
        } else if (what === 'takeover') {
          election = electionOf(passes, election.state(), now);
          isFinal = false;
          if (holder !== undefined) holder = { ...holder, until: now + BLOCK };
          forget();
        } else if (what === 'keep' && mine !== undefined) {
          if (election.keep(mine.choice, now).chosen === undefined) told.delete(trainer);
          else {
            expect(holder?.trainer).toBe(trainer);
            holder = { trainer, until: now + BLOCK };
          }
        } else if (what === 'ask') {
          const { chosen } = election.request(trainer, BLOCK, now);
          if (chosen === undefined) continue;
          if (holder !== undefined && holder.until > now) expect(trainer).toBe(holder.trainer);
          holder = { trainer, until: now + BLOCK };
          if (mine?.choice !== chosen.choice) told.set(trainer, { ...chosen, edition });
        }
      }
      // Somebody who asks long enough is chosen.
      const wanted = isFinal ? PASSES : Math.min(passes, PASSES - 1);
      if (election.state().saved < wanted) {
        expect(election.request('last', BLOCK, now + BLOCK).chosen).toBeDefined();
      }
    }),
    { numRuns: 2_000 },
  );
});
