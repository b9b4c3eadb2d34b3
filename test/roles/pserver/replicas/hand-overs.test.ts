/** A unit is handed over while no save is running. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { HandOvers } from '../../../../src/roles/pserver/replicas/hand-overs.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import type { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';

const UNIT = 0;

let told: string[];
let saved: PromiseWithResolvers<void>;
let machines: UnitMachines<SharedUpdate>;
let handOvers: HandOvers;

beforeEach(() => {
  told = [];
  saved = Promise.withResolvers();
  machines = new UnitMachines({
    ...{ clock: new FakeClock(), me: A, silenceMs: 1_000, minInSync: 1 },
    isHeld: () => true,
    isGone: () => false,
    onTurn: (steps) => {
      for (const { effects } of steps) told.push(...effects.map(({ type }) => type));
      handOvers.settle();
    },
    onFatal: (error) => told.push(String(error)),
  });
  const options = { unit: UNIT, me: A, silenceMs: 1_000, minInSync: 1 };
  machines.add(UNIT, Replica.taken({ epoch: 1, primary: A, inSync: [A, B] }, 0, options));
  handOvers = new HandOvers({
    machines,
    withoutSaves: async () => {
      await saved.promise;
      told.push('saves wait');
      return () => told.push('saves go on');
    },
    onEnded: () => told.push('ended'),
    onFatal: (error) => told.push(String(error)),
  });
});

const settled = (): Promise<void> => new Promise(setImmediate);
const answer = (through: number): void => {
  const link = { unit: UNIT, epoch: 1, primary: A, member: B };
  machines.step(UNIT, { type: 'answer', link, answer: { type: 'staged', through, committed: through } });
};

describe('a hand-over', () => {
  it('begins when no save is running, and is not asked for twice', async () => {
    handOvers.begin(UNIT, B);
    handOvers.begin(UNIT, B);
    await settled();
    expect([told, handOvers.to(), handOvers.isBegun(UNIT)]).toEqual([[], new Map([[UNIT, 1]]), false]);
    saved.resolve();
    await settled();
    expect(told).toEqual(['saves wait']);
    expect(handOvers.isBegun(UNIT)).toBe(true);
    expect(machines.of(UNIT)!.admits('update')).toBe(false);
  });

  it('ends when another one leads the unit', async () => {
    saved.resolve();
    handOvers.begin(UNIT, B);
    machines.step(UNIT, { type: 'connected', to: B });
    await settled();
    answer(0);
    await settled();
    expect(told.at(-1)).toBe('propose');
    machines.step(UNIT, { type: 'decided', from: 1, outcome: 'succeeded' });
    await settled();
    expect(told.slice(-3)).toEqual(['stepDown', 'saves go on', 'ended']);
    expect(handOvers.to()).toEqual(new Map());
  });

  it('ends when the member is gone', async () => {
    saved.resolve();
    handOvers.begin(UNIT, B);
    await settled();
    machines.step(UNIT, { type: 'gone', owner: B });
    await settled();
    expect(told.slice(-2)).toEqual(['saves go on', 'ended']);
    expect(machines.of(UNIT)!.admits('update')).toBe(true);
  });

  it('does not begin while its member is being taken out, and is not told to have ended', async () => {
    saved.resolve();
    machines.step(UNIT, { type: 'gone', owner: B });
    handOvers.begin(UNIT, B);
    await settled();
    expect([told, handOvers.to()]).toEqual([['propose'], new Map()]);
  });

  it('that has not begun when this pserver ends holds no save back', async () => {
    handOvers.begin(UNIT, B);
    handOvers.close();
    saved.resolve();
    await settled();
    expect(told).toEqual(['saves wait', 'saves go on']);
    expect(machines.of(UNIT)!.handOverTo).toBeUndefined();
  });
});
