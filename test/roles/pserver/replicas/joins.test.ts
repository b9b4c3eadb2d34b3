/** A copy is begun and sealed only when everything that is committed is applied. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { Joins } from '../../../../src/roles/pserver/replicas/joins.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import type { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';

const UNIT = 0;
const TARGET = { index: B.index, token: BigInt(B.token), address: 'host:1' };
const COPY = { unit: UNIT, target: B };

let told: string[];
let isMaking: boolean;
/** Runs once, within a turn. */
let within: () => void;
let machines: UnitMachines<SharedUpdate>;
let joins: Joins;

beforeEach(() => {
  told = [];
  isMaking = false;
  within = () => {};
  machines = new UnitMachines({
    ...{ clock: new FakeClock(), me: A, silenceMs: 1_000, minInSync: 1 },
    isHeld: () => true,
    isGone: () => false,
    onTurn: (steps) => {
      for (const { effects } of steps) told.push(...effects.map(({ type }) => type));
      const once = within;
      within = () => {};
      once();
      joins.resume();
    },
    onFatal: (error) => told.push(String(error)),
  });
  const options = { unit: UNIT, me: A, silenceMs: 1_000, minInSync: 1 };
  machines.add(UNIT, Replica.taken({ epoch: 1, primary: A, inSync: [A] }, 4, options));
  joins = new Joins({
    machines,
    copies: () => ({
      copy: (_, { index }, committed) => told.push(`begin ${index} at ${committed}`),
      making: () => new Map(),
      isMaking: () => isMaking,
      seal: (_, committed) => told.push(`seal at ${committed}`) > 0,
      joinFailed: () => told.push('failed'),
      release: () => {
        told.push('release');
        joins.ended(COPY);
      },
    }),
    onEnded: (_, isMember) => told.push(`ended ${isMember}`),
  });
});

const settled = async (): Promise<string[]> => {
  await new Promise(setImmediate);
  return told;
};

describe('a copy for another process', () => {
  it('is begun with what is applied, not with what is about to be', async () => {
    const place = (): void => machines.step(UNIT, { type: 'place', payload: undefined as never });
    within = place;
    place();
    joins.begin(UNIT, TARGET);
    expect(joins.making()).toEqual(new Map([[UNIT, new Set([1])]]));
    expect(await settled()).toEqual(['commit', 'commit', 'begin 1 at 6']);
    expect(joins.making()).toEqual(new Map());
  });

  it('is not begun twice, and not for a process that has one', async () => {
    isMaking = true;
    joins.begin(UNIT, TARGET);
    expect(await settled()).toEqual([]);
    isMaking = false;
    machines.step(UNIT, { type: 'join', joiner: B });
    joins.begin(UNIT, TARGET);
    expect(await settled()).toEqual(['send']);
  });

  it('is sealed at what is applied, and joins at that moment', async () => {
    machines.step(UNIT, { type: 'place', payload: undefined as never });
    joins.caughtUp(COPY);
    expect(await settled()).toEqual(['commit', 'seal at 5', 'send']);
    expect(machines.of(UNIT)!.peers()).toEqual([B]);
  });

  it('that is in the head is released', async () => {
    joins.changed(UNIT, [A, B]);
    expect(told).toEqual([]);
    isMaking = true;
    joins.changed(UNIT, [B]);
    expect(told).toEqual(['release', 'ended true']);
  });

  it('that is not confirmed leaves the machine, which says when', async () => {
    joins.caughtUp(COPY);
    await settled();
    told = [];
    joins.unconfirmed(COPY);
    expect(await settled()).toEqual(['joinFailed']);
  });
});
