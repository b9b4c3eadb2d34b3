/** An update that was placed ends when all its units have decided. */
import { describe, expect, it } from 'vitest';
import { PlacedUpdates } from '../../../../src/roles/pserver/replicas/placed-updates.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { PARTS } from './updates.ts';

const partsAt = (position: number, units: readonly number[]) =>
  units.map((unit) => ({ unit, name: { position, epoch: 1 } }));

const payload = (units: readonly number[]): SharedUpdate =>
  new SharedUpdate({ of: PARTS, update: { type: 'close', tasks: [] }, units });

class Placed {
  readonly updates = new PlacedUpdates();
  readonly told: string[] = [];

  add(name: string, update: SharedUpdate, position: number): void {
    const parts = partsAt(position, update.units);
    this.updates
      .add(update, parts, (isSomewhere) => this.told.push(`${name} ends ${isSomewhere}`))
      .then((outcome) => this.told.push(`${name} ${outcome}`));
  }

  async settled(): Promise<string[]> {
    await new Promise(setImmediate);
    return this.told;
  }
}

describe('an update that was placed', () => {
  it('is committed when all its units have applied it', async () => {
    const placed = new Placed();
    const update = payload([0, 1]);
    placed.add('a', update, 1);
    placed.updates.applied(update, [1], undefined);
    expect(await placed.settled()).toEqual([]);
    placed.updates.applied(update, [0], undefined);
    expect(await placed.settled()).toEqual(['a ends true', 'a committed']);
    expect(placed.updates.size).toBe(0);
  });

  it('has failed when a unit drops it, and is answered when the others have decided', async () => {
    const placed = new Placed();
    const update = payload([0, 1]);
    placed.add('a', update, 1);
    placed.updates.dropped(0, [{ position: 1, epoch: 1 }]);
    expect(await placed.settled()).toEqual([]);
    placed.updates.applied(update, [1], undefined);
    expect(await placed.settled()).toEqual(['a ends true', 'a failed']);
  });

  it('counts nowhere when all units have dropped it', async () => {
    const placed = new Placed();
    placed.add('a', payload([0]), 1);
    placed.updates.dropped(0, [{ position: 1, epoch: 1 }]);
    expect(await placed.settled()).toEqual(['a ends false', 'a failed']);
  });

  it('is told apart from the one before it by its name', async () => {
    const placed = new Placed();
    const [first, second] = [payload([0]), payload([0])];
    placed.add('a', first, 1);
    placed.add('b', second, 2);
    placed.updates.dropped(0, [{ position: 2, epoch: 1 }]);
    expect(await placed.settled()).toEqual(['b ends false', 'b failed']);
    placed.updates.applied(first, [0], undefined);
    expect(await placed.settled()).toEqual(['b ends false', 'b failed', 'a ends true', 'a committed']);
  });

  it('is not known to be committed when another process leads a unit', async () => {
    const placed = new Placed();
    placed.add('a', payload([0]), 1);
    placed.updates.lost(0);
    expect(await placed.settled()).toEqual(['a ends false', 'a failed']);
  });

  it('waits for the copies that are being made', async () => {
    const placed = new Placed();
    const update = payload([0]);
    const made = Promise.withResolvers<void>();
    placed.add('a', update, 1);
    placed.updates.applied(update, [0], made.promise);
    expect(await placed.settled()).toEqual(['a ends true']);
    made.resolve();
    expect(await placed.settled()).toEqual(['a ends true', 'a committed']);
  });
});
