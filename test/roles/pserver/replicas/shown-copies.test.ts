/** What a pserver tells of the copies of its units. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { parseReply } from '../../../../src/protocol/messages/parse.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import { shownCopies } from '../../../../src/roles/pserver/replicas/requests.ts';
import type { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B, C } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';

const HEAD = { epoch: 3, primary: A, inSync: [A, B] };
let machines: UnitMachines<SharedUpdate>;

beforeEach(() => {
  machines = new UnitMachines({
    ...{ clock: new FakeClock(), me: A, silenceMs: 1_000, minInSync: 1, isHeld: () => true, isGone: () => false },
    onTurn: () => {},
    onFatal: (error) => {
      throw error;
    },
  });
});

function lead(unit: number): void {
  machines.add(unit, Replica.taken(HEAD, 4, { unit, me: A, silenceMs: 1_000, minInSync: 1 }));
}

const shown = (making: ReadonlyMap<number, ReadonlySet<number>> = new Map(), from = 0) => {
  const found = shownCopies({ machines, joins: { making: () => new Map(making) as never } }, from);
  expect(parseReply({ type: 'unitCopies', ...found })).toEqual({ type: 'unitCopies', ...found });
  return found;
};

describe('the copies of a unit', () => {
  it('are those in sync, on their way and being filled, with what each has not applied', () => {
    lead(2);
    const link = { unit: 2, epoch: 3, primary: A, member: B };
    machines.step(2, { type: 'answer', link, answer: { type: 'staged', through: 4, committed: 4 } });
    for (let update = 0; update < 3; update++) machines.step(2, { type: 'place', payload: undefined as never });
    machines.step(2, { type: 'answer', link, answer: { type: 'staged', through: 6, committed: 5 } });
    machines.step(2, { type: 'join', joiner: C });
    expect(shown(new Map([[2, new Set([C.index, 7])]]))).toEqual({
      units: [
        {
          ...{ unit: 2, epoch: 3, committed: 6, staged: 1 },
          copies: [
            { index: B.index, state: 'inSync', behind: 1 },
            { index: C.index, state: 'joining' },
            { index: 7, state: 'copying' },
          ],
        },
      ],
      more: false,
    });
  });

  it('are told by their primary only, in pages', () => {
    for (let unit = LIMITS.shownUnits + 1; unit >= 0; unit--) lead(unit);
    machines.add(600, Replica.copied({ epoch: 3, primary: B }, 4));
    const { units, more } = shown();
    expect([units.length, units[0]!.unit, more]).toEqual([LIMITS.shownUnits, 0, true]);
    const rest = shown(undefined, LIMITS.shownUnits);
    expect(rest.units.map(({ unit }) => unit)).toEqual([LIMITS.shownUnits, LIMITS.shownUnits + 1]);
    expect(rest.more).toBe(false);
  });
});
