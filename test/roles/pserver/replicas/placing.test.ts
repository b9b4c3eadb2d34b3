/** Updates get their places when there is room, and what was judged before is judged again then. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import type { TakeRoom } from '../../../../src/roles/pserver/replicas/links-host.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import { type PlaceRequest, Placing } from '../../../../src/roles/pserver/replicas/placing.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';
import { PARTS } from './updates.ts';

const UNITS = [0, 1];

class Rig {
  readonly machines: UnitMachines<SharedUpdate>;
  readonly placing: Placing;
  readonly outcomes: string[] = [];
  versions = 0;
  /** Who waits for room. */
  readonly asked: ((takeRoom: TakeRoom<SharedUpdate>) => void)[] = [];
  readonly taken: SharedUpdate[] = [];

  constructor() {
    const options = { me: A, silenceMs: 1_000, minInSync: 1 };
    this.machines = new UnitMachines<SharedUpdate>({
      ...{ ...options, clock: new FakeClock() },
      isHeld: () => true,
      isGone: () => false,
      onTurn: (steps) => {
        for (const { unit, effects } of steps)
          for (const effect of effects)
            if (effect.type === 'commit') this.placing.updates.applied(effect.update.payload, [unit], undefined);
      },
      onFatal: (error) => this.outcomes.push(String(error)),
    });
    for (const unit of UNITS)
      this.machines.add(unit, Replica.taken({ epoch: 1, primary: A, inSync: [A] }, 0, { unit, ...options }));
    this.placing = new Placing({
      owned: { raiseVersion: () => (this.versions += 1) } as never,
      machines: this.machines,
      host: {
        ask: (_, onRoom) => {
          this.asked.push(onRoom);
          return () => {};
        },
      },
    });
  }

  /** A push of a task, if it is judged so. */
  place(request: Partial<PlaceRequest> = {}): void {
    const update = { type: 'close', tasks: [] } as const;
    const payload = new SharedUpdate({ of: PARTS, update, units: UNITS });
    const usual = { payload, isCurrent: () => true, make: () => update, isCounted: true };
    this.placing.place({ ...usual, ...request }).then(
      (outcome) => this.outcomes.push(outcome),
      (error: PaddletError) => this.outcomes.push(error.code),
    );
  }

  /** There is room for who has asked first. */
  async room(): Promise<void> {
    this.asked.shift()!((payload) => this.taken.push(payload));
    await new Promise(setImmediate);
  }
}

describe('an update', () => {
  it('is placed in all its units at the moment at which there is room, and ends when they have committed it', async () => {
    const rig = new Rig();
    rig.place();
    expect(rig.machines.nextNames([0])[0]!.name.position).toBe(1);
    await rig.room();
    expect(rig.outcomes).toEqual(['committed']);
    expect(rig.taken.map(({ order }) => order)).toEqual([1]);
    expect(UNITS.map((unit) => rig.machines.of(unit)!.committed)).toEqual([1, 1]);
    expect(rig.versions).toBe(1);
  });

  it('that raises the version counts from when it is placed until it has', () => {
    const rig = new Rig();
    rig.place();
    rig.place({ isCounted: false });
    expect(rig.placing.counted).toBe(0);
    for (const onRoom of rig.asked) onRoom(() => {});
    expect([rig.placing.counted, rig.versions]).toEqual([1, 0]);
    rig.placing.close();
    expect(rig.placing.counted).toBe(0);
  });

  it('is judged again when there is room', async () => {
    const rig = new Rig();
    rig.place({ isCurrent: () => false });
    await rig.room();
    expect(rig.outcomes).toEqual(['again']);
    expect(rig.taken).toEqual([]);
    expect(rig.machines.of(0)!.committed).toBe(0);
  });

  it('is refused with what its making throws, and takes no place', async () => {
    const rig = new Rig();
    const make = (): never => {
      throw new PaddletError('TooStale', 'too old');
    };
    rig.place({ make });
    await rig.room();
    expect(rig.outcomes).toEqual(['TooStale']);
    expect(rig.taken).toEqual([]);
  });

  it('waits while a unit is handed over', async () => {
    const rig = new Rig();
    rig.place();
    rig.machines.remove(1);
    await rig.room();
    expect(rig.outcomes).toEqual(['again']);
  });

  it('is answered when the pserver ends, whether it has a place or not', async () => {
    const rig = new Rig();
    rig.place();
    rig.place();
    rig.asked[0]!(() => {});
    rig.machines.close();
    rig.placing.close();
    await new Promise(setImmediate);
    expect(rig.outcomes.sort()).toEqual(['Suspended', 'failed']);
    expect(() => rig.place()).toThrow('no longer answers');
  });
});
