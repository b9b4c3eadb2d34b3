/** What machines are told of the heads of their units. */
import { beforeEach, describe, expect, it } from 'vitest';
import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import type { StoredHead } from '../../../../src/cluster/placement/propose-heads.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import { KnownHeads, SeenHeads } from '../../../../src/roles/pserver/replicas/seen-heads.ts';
import type { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';

/** This process is B, and has a copy of unit 0 that A leads. */
const HEAD = { ...takenBy(A, undefined), inSync: [A, B] };
const stored = (modRevision: bigint, head: Partial<StoredHead['head']> = {}): StoredHead => {
  return { unit: 0, head: { ...HEAD, ...head }, modRevision };
};

let told: string[];
let known: KnownHeads;
let place: { stored: StoredHead; owner: unknown };
let seen: SeenHeads;

beforeEach(() => {
  told = [];
  known = new KnownHeads();
  const machines = new UnitMachines<SharedUpdate>({
    ...{ clock: new FakeClock(), me: B, silenceMs: 1_000, minInSync: 1 },
    isHeld: () => true,
    isGone: () => false,
    onTurn: (steps) => {
      for (const { effects } of steps) told.push(...effects.map(({ type }) => type));
    },
    onFatal: (error) => told.push(String(error)),
  });
  machines.add(0, Replica.copied({ epoch: 1, primary: A }, 0));
  place = { stored: stored(5n), owner: {} };
  seen = new SeenHeads({
    ...{ context: undefined as never, lost: new AbortController().signal, known, machines },
    view: { units: () => [place as never] },
    onRecovery: () => {},
    onSeen: (head, isPrimaryAlive) => told.push(`seen ${head.modRevision} ${isPrimaryAlive}`),
    onFatal: (error) => told.push(String(error)),
  });
});

async function look(): Promise<string[]> {
  told.length = 0;
  seen.readView();
  await new Promise(setImmediate);
  return told;
}

describe('the head of a unit', () => {
  it('whose primary is gone makes a member take over', async () => {
    expect(await look()).toEqual(['seen 5 true']);
    place = { ...place, owner: undefined };
    expect(await look()).toEqual(['seen 5 false', 'propose']);
  });

  it('is told to its machine once', async () => {
    place = { ...place, owner: undefined };
    expect(await look()).toContain('propose');
    expect(await look()).toEqual(['seen 5 false']);
  });

  it('that names a file as the last state makes no member take over: its primary has left by a clean stop', async () => {
    const rest = { index: 0, uuid: '0189aaaa-0000-4000-8000-000000000000' };
    place = { stored: stored(6n, { rest }), owner: undefined };
    expect(await look()).toEqual(['seen 6 true']);
  });

  it('of the view counts for nothing when a newer one is known', async () => {
    known.learn(stored(9n, { epoch: 3 }));
    place = { ...place, owner: undefined };
    expect(await look()).toEqual([]);
  });
});
