/** Of the trainers that ask to save the model within the block time exactly one is chosen. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSaveElection } from '../../src/core/save-election.ts';

const BLOCK = 100;

it('three trainers and a restarted one ask: exactly one is chosen', () => {
  const election = createSaveElection(undefined, 1, 0);
  const asked = ['a', 'b', 'c', 'b2'].map((trainer, i) => election.request(trainer, BLOCK, 10 * i).pass);
  expect(asked).toEqual([1, undefined, undefined, undefined]);
  // The chosen one is told so again, and keeps its choice.
  expect(election.request('a', BLOCK, 90)).toEqual({ pass: 1, changed: false });
  expect(election.request('b', BLOCK, 150).pass).toBeUndefined();
  expect(election.wrote('a', 1)).toBe(true);
  expect(election.request('b', BLOCK, 160).pass).toBeUndefined();
  expect(election.isWanted(1000)).toBe(false);
});

it('when the chosen one falls silent, another is chosen after the block time', () => {
  const election = createSaveElection(undefined, 1, 0);
  election.request('a', BLOCK, 0);
  expect(election.nextDeadline()).toBe(BLOCK);
  expect(election.request('b', BLOCK, BLOCK - 1).pass).toBeUndefined();
  expect(election.isWanted(BLOCK)).toBe(true);
  expect(election.request('b', BLOCK, BLOCK)).toEqual({ pass: 1, changed: true });
  expect(election.request('a', BLOCK, BLOCK + 1).pass).toBeUndefined();
  // The first one was only slow: its file is whole too.
  expect(election.wrote('a', 1)).toBe(true);
  expect(election.wrote('b', 1)).toBe(false);
});

it('a new master keeps the choice, for a whole block time', () => {
  const first = createSaveElection(undefined, 2, 0);
  first.request('a', BLOCK, 0);
  const second = createSaveElection(JSON.parse(JSON.stringify(first.state())), 2, 5_000);
  expect(second.request('b', BLOCK, 5_000 + BLOCK - 1).pass).toBeUndefined();
  expect(second.request('a', BLOCK, 5_000 + BLOCK - 1).pass).toBe(2);
  expect(second.wrote('a', 2)).toBe(true);
  expect(createSaveElection(second.state(), 2, 0).isWanted(0)).toBe(false);
});

it('nothing is to be saved before a pass has ended; of several the newest', () => {
  const election = createSaveElection(undefined, 0, 0);
  expect(election.request('a', BLOCK, 0).pass).toBeUndefined();
  election.passesEnded(1);
  election.passesEnded(3);
  expect(election.request('a', BLOCK, 0).pass).toBe(3);
  election.passesEnded(4);
  expect(election.request('a', BLOCK, 1).pass).toBe(3);
  election.wrote('a', 3);
  expect(election.request('b', BLOCK, 2).pass).toBe(4);
});

it('one that could not write gives way at once; what changed since is saved again', () => {
  const election = createSaveElection(undefined, 1, 0);
  election.request('a', BLOCK, 0);
  expect(election.failed('b', 1)).toBe(false);
  expect(election.failed('a', 1)).toBe(true);
  expect(election.request('b', BLOCK, 1).pass).toBe(1);
  election.wrote('b', 1);
  election.redo(1);
  expect(election.request('a', BLOCK, 2).pass).toBe(1);
});

it('never are two chosen at a time, whoever asks, falls silent or dies, also across masters', () => {
  const action = fc.tuple(fc.constantFrom('ask', 'wrote', 'takeover', 'pass'), fc.nat(3), fc.nat(60));
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      let election = createSaveElection(undefined, 0, 0);
      let now = 0;
      let passes = 0;
      let holder: { trainer: string; until: number } | undefined;
      for (const [what, who, wait] of actions) {
        now += wait;
        const trainer = `t${who}`;
        if (what === 'pass') election.passesEnded(++passes);
        else if (what === 'wrote') {
          const { chosen } = election.state();
          if (chosen?.trainer !== trainer) continue;
          election.wrote(trainer, chosen.pass);
          holder = undefined;
        } else if (what === 'takeover') {
          election = createSaveElection(election.state(), passes, now);
          if (holder !== undefined) holder = { ...holder, until: now + BLOCK };
        } else if (election.request(trainer, BLOCK, now).pass !== undefined) {
          if (holder !== undefined && holder.until > now) expect(trainer).toBe(holder.trainer);
          holder = { trainer, until: now + BLOCK };
        }
      }
      // Somebody who asks long enough is chosen.
      if (election.state().saved < passes) expect(election.request('last', BLOCK, now + BLOCK).pass).toBeDefined();
    }),
  );
});
