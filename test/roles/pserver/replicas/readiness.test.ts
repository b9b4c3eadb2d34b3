/** Whether anything in the units is undecided, and how a pserver comes to lead its units alone. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import type { HeadProposal } from '../../../../src/core/replicas/events.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import { Readiness } from '../../../../src/roles/pserver/replicas/readiness.ts';
import type { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B, C } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';
import { firstHeads } from '../held/owned-heads.ts';

const OPTIONS = { me: A, silenceMs: 1_000, minInSync: 1 };
const UPDATE = {} as SharedUpdate;

let machines: UnitMachines<SharedUpdate>;
let proposals: { readonly unit: number; readonly proposal: HeadProposal }[];
let outdated: number[];
let ending: AbortController;
let readiness: Readiness;

beforeEach(() => {
  [proposals, outdated, ending] = [[], [], new AbortController()];
  const changed = createSignal();
  machines = new UnitMachines({
    ...{ ...OPTIONS, clock: new FakeClock(), isHeld: () => true, isGone: () => false },
    onTurn: (steps) => {
      for (const { unit, effects } of steps) {
        for (const effect of effects) {
          if (effect.type === 'propose') proposals.push({ unit, proposal: effect.proposal });
        }
      }
      changed.notify();
    },
    onFatal: (error) => {
      throw error;
    },
  });
  readiness = new Readiness({
    ...{ machines, changed, ending: ending.signal, placed: { size: 0 }, handOvers: { to: () => new Map() } },
    owned: { heads: firstHeads([0]) },
    rounds: { isOutdated: (unit) => outdated.includes(unit) },
  });
});

const settled = (): Promise<void> => new Promise(setImmediate);

function lead(unit: number, others: readonly (typeof B)[]): void {
  const head = { epoch: 1, primary: A, inSync: [A, ...others] };
  machines.add(unit, Replica.taken(head, 0, { unit, ...OPTIONS }));
}

/** The transaction takes effect. */
async function decide(): Promise<void> {
  const { unit, proposal } = proposals.shift()!;
  machines.step(unit, { type: 'decided', from: proposal.from, outcome: 'succeeded' });
  await settled();
}

describe('a pserver that is to lead its units alone', () => {
  it('takes all others out of the sets, and has what was placed decided by then', async () => {
    lead(0, [B, C]);
    lead(1, []);
    machines.step(0, { type: 'place', payload: UPDATE });
    let isAlone = false;
    const alone = readiness.alone().then(() => {
      isAlone = true;
    });
    await settled();
    expect(proposals.map(({ proposal: { kind } }) => kind)).toEqual(['remove']);
    await decide();
    expect([isAlone, machines.of(0)!.peers()]).toEqual([false, [C]]);
    await decide();
    await alone;
    expect([machines.of(0)!.peers(), machines.of(0)!.staged()]).toEqual([[], []]);
  });

  it('leaves the copies of other units alone, where it is to lead only some so', async () => {
    lead(0, [B]);
    lead(1, [B]);
    const alone = readiness.alone([1]);
    await settled();
    expect(proposals.map(({ unit }) => unit)).toEqual([1]);
    await decide();
    await alone;
    expect([proposals, machines.of(0)!.peers()]).toEqual([[], [B]]);
  });

  it('is so at once where it is alone', async () => {
    lead(1, []);
    await readiness.alone();
    expect(proposals).toEqual([]);
  });

  it('is given up when the process ends', async () => {
    lead(0, [B]);
    const alone = readiness.alone();
    ending.abort();
    await expect(alone).rejects.toMatchObject({ code: 'Interrupted' });
  });
});

describe('a unit that is led and not served', () => {
  it('is about to be, unless it has to be loaded from the cut first', () => {
    lead(0, []);
    expect(readiness.isTakingOver()).toBe(false);
    lead(1, []);
    expect(readiness.isTakingOver()).toBe(true);
    outdated = [1];
    expect(readiness.isTakingOver()).toBe(false);
  });
});

it('a copy that is about to be led here is needed, from when its primary is gone until it is served', () => {
  machines.add(1, Replica.copied({ epoch: 1, primary: B }, 0));
  const needed = (): boolean[] => [readiness.hasMembers(), readiness.isTakingOver()];
  expect(needed()).toEqual([false, false]);
  const head = { epoch: 2, primary: B, inSync: [A, B, C] };
  machines.step(1, { type: 'seen', head, isPrimaryAlive: true });
  expect(needed()).toEqual([true, false]);
  machines.step(1, { type: 'seen', head, isPrimaryAlive: false });
  expect(needed()).toEqual([true, true]);
  machines.step(1, { type: 'decided', from: 2, outcome: 'succeeded' });
  expect(machines.of(1)!.role).toBe('leading');
  expect(needed()).toEqual([true, true]);
});
