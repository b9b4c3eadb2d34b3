/** Machines step at once, and what comes out of them is carried out in turns. */
import { describe, expect, it } from 'vitest';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { isSameOwner, type UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { type MachineStep, UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import { A, B, C } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';

const SILENCE_MS = 1_000;

class Rig {
  readonly clock = new FakeClock();
  readonly turns: MachineStep<string>[][] = [];
  readonly fatal: unknown[] = [];
  onTurn: () => void = () => {};
  isHeld = true;
  isGone: (owner: UnitOwner) => boolean = () => false;
  readonly machines: UnitMachines<string>;

  constructor(units: readonly number[]) {
    this.machines = new UnitMachines<string>({
      ...{ clock: this.clock, me: A, silenceMs: SILENCE_MS, minInSync: 1 },
      isHeld: () => this.isHeld,
      isGone: (owner) => this.isGone(owner),
      onTurn: (steps) => {
        this.turns.push([...steps]);
        this.onTurn();
      },
      onFatal: (error) => this.fatal.push(error),
    });
    const head = { epoch: 1, primary: A, inSync: [A] };
    for (const unit of units) {
      const options = { unit, me: A, silenceMs: SILENCE_MS, minInSync: 1 };
      this.machines.add(unit, Replica.taken(head, 0, options));
    }
  }

  kinds(): string[][] {
    return this.turns.map((steps) =>
      steps.flatMap(({ unit, effects }) => effects.map(({ type }) => `${unit} ${type}`)),
    );
  }
}

const settled = (): Promise<void> => new Promise(setImmediate);

describe('machines of units', () => {
  it('step at once, and share a turn when the caller has returned', async () => {
    const rig = new Rig([0, 1]);
    for (const unit of [0, 1]) rig.machines.step(unit, { type: 'place', payload: 'push' });
    expect(rig.machines.nextNames([0])).toEqual([{ unit: 0, name: { position: 2, epoch: 1 } }]);
    expect(rig.machines.isPending(0)).toBe(true);
    expect(rig.turns).toEqual([]);
    await settled();
    expect(rig.kinds()).toEqual([['0 commit', '1 commit']]);
    expect(rig.machines.isPending(0)).toBe(false);
  });

  it('what they are told in a turn is another turn', async () => {
    const rig = new Rig([0]);
    rig.onTurn = () => {
      if (rig.turns.length === 1) rig.machines.step(0, { type: 'place', payload: 'b' });
    };
    rig.machines.step(0, { type: 'place', payload: 'a' });
    await settled();
    expect(rig.kinds()).toEqual([['0 commit'], ['0 commit']]);
  });

  it('take out at once a member that was gone before they began to lead', async () => {
    const rig = new Rig([]);
    rig.isGone = (owner) => isSameOwner(owner, C);
    const log = { base: 0, committed: 0, updates: [] };
    const role = { is: 'backup', epoch: 1, isJoining: false, madeBy: undefined, proposal: undefined } as const;
    rig.machines.add(0, { log, head: undefined, isPrimaryAlive: true, early: undefined, role });
    const head = { epoch: 1, primary: B, inSync: [B, A, C] };
    rig.machines.step(0, { type: 'seen', head, isPrimaryAlive: false });
    const led = { epoch: 2, primary: A, inSync: [A, C] };
    rig.machines.step(0, { type: 'decided', from: 1, outcome: 'succeeded' });
    await settled();
    const proposed = rig.turns.flat().flatMap(({ effects }) => effects.filter(({ type }) => type === 'propose'));
    expect(proposed).toMatchObject([
      { proposal: { kind: 'promote', head: led } },
      { proposal: { kind: 'remove', from: 2, head: { epoch: 3, primary: A, inSync: [A] } } },
    ]);
    await rig.clock.advance(2 * SILENCE_MS);
    expect(rig.fatal).toEqual([]);
  });

  it('take out a member that is silent', async () => {
    const rig = new Rig([0]);
    rig.machines.step(0, { type: 'join', joiner: B });
    await rig.clock.advance(SILENCE_MS - 1);
    expect(rig.kinds().flat()).toEqual(['0 send']);
    await rig.clock.advance(1);
    expect(rig.kinds().flat()).toEqual(['0 send', '0 joinFailed']);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('do not count the time in which this process was stopped as silence of others', async () => {
    const rig = new Rig([0]);
    rig.machines.step(0, { type: 'join', joiner: B });
    await rig.clock.advance(SILENCE_MS / 2);
    rig.clock.jump(10 * SILENCE_MS);
    await rig.clock.advance(SILENCE_MS - 1);
    expect(rig.kinds().flat()).not.toContain('0 joinFailed');
    await rig.clock.advance(1);
    expect(rig.kinds().flat()).toContain('0 joinFailed');
  });

  it('do not count the time in which this process was cut off from the store as silence of others', async () => {
    const rig = new Rig([0]);
    rig.machines.step(0, { type: 'join', joiner: B });
    rig.isHeld = false;
    await rig.clock.advance(3 * SILENCE_MS);
    rig.isHeld = true;
    await rig.clock.advance(SILENCE_MS - 1);
    expect(rig.kinds().flat()).not.toContain('0 joinFailed');
    await rig.clock.advance(1);
    expect(rig.kinds().flat()).toContain('0 joinFailed');
  });

  it('do nothing more when they are closed', async () => {
    const rig = new Rig([0]);
    rig.machines.step(0, { type: 'join', joiner: B });
    rig.machines.close();
    await rig.clock.advance(SILENCE_MS);
    expect(rig.turns).toEqual([]);
  });

  it('a bug in a turn is told', async () => {
    const rig = new Rig([0]);
    rig.onTurn = () => {
      throw new Error('a bug');
    };
    rig.machines.step(0, { type: 'place', payload: 'a' });
    await settled();
    expect(rig.fatal).toEqual([new Error('a bug')]);
  });
});
