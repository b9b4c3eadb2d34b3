/** Of the trainers that ask to save the model within the block time exactly one is chosen. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { createSaveElection, type SavedElection, type SaveElection } from '../../src/core/save-election.ts';

const BLOCK = 100;
const MAX_BLOCK = LIMITS.saveModelMs / 10;
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
  expect(election.request('b', BLOCK, BLOCK)).toEqual({ chosen: { pass: 1, choice: 2 }, changed: true });
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
  const END = LIMITS.saveModelMs;

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
    expect(election.overdue(END)).toEqual({ trainer: 'a', pass: 1, choice: 1, blockMs: MAX_BLOCK });
    expect(election.overdue(END)).toBeUndefined();
    expect(election.request('a', MAX_BLOCK, END + MAX_BLOCK - 1).chosen).toBeUndefined();
    expect(election.request('b', BLOCK, END + MAX_BLOCK - 1).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('is chosen again only by a new number', () => {
    expect(renewed(END).request('a', MAX_BLOCK, END).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('is chosen again when no other one asks', () => {
    const election = renewed(END);
    election.overdue(END);
    expect(election.request('a', MAX_BLOCK, END + MAX_BLOCK).chosen).toEqual({ pass: 1, choice: 2 });
  });

  it('may have written the model all the same', () => {
    const election = renewed(END);
    election.overdue(END);
    expect(election.wrote(1, 1)).toBe(true);
    expect(election.isWanted(END)).toBe(false);
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
    election.trained();
    expect(election.request('a', BLOCK, 0).chosen).toEqual({ pass: PASSES, choice: 2 });
    expect(election.wrote(PASSES, 2)).toBe(true);
    expect(election.isWanted(1000)).toBe(false);
  });

  it('is written again when a pserver was restored, and not by who was chosen before', () => {
    const election = electionOf(PASSES);
    election.trained();
    const before = election.request('a', BLOCK, 0).chosen!;
    election.overtaken();
    expect(election.keep(before.choice, 1).chosen).toBeUndefined();
    expect(election.wrote(PASSES, before.choice)).toBe(false);
    expect(election.request('a', BLOCK, 1).chosen?.pass).toBe(PASSES - 1);
    election.trained();
    expect(election.wrote(PASSES, before.choice)).toBe(false);
    election.wrote(PASSES - 1, 2);
    const after = election.request('b', BLOCK, 2).chosen!;
    expect(after.pass).toBe(PASSES);
    expect(election.wrote(PASSES, after.choice)).toBe(true);
    election.overtaken();
    expect(election.state().saved).toBe(PASSES - 1);
    election.trained();
    expect(election.isWanted(3)).toBe(true);
  });

  it('is written again for a new master, which does not know what happened before it', () => {
    const first = electionOf(PASSES);
    first.trained();
    const before = first.request('a', BLOCK, 0).chosen!;
    const second = electionOf(PASSES, first.state());
    second.trained();
    expect(second.keep(before.choice, 1).chosen).toBeUndefined();
    expect(second.wrote(PASSES, before.choice)).toBe(false);
    expect(second.request('b', BLOCK, 1).chosen).toEqual({ pass: PASSES, choice: before.choice + 1 });
    second.wrote(PASSES, before.choice + 1);
    const third = electionOf(PASSES, second.state());
    third.trained();
    expect(third.isWanted(0)).toBe(true);
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
          election.trained();
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
