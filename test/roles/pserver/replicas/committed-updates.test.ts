/** What is committed is applied: in order, at one go for many units, to led units and to copies alike. */
import { describe, expect, it } from 'vitest';
import { CommittedUpdates } from '../../../../src/roles/pserver/replicas/committed-updates.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { rowsPart, SGD } from '../../../tensor/fixture.ts';
import { UNTIMED } from '../untimed.ts';
import { CopiedRig, SPEC, UNITS } from './copied-rig.ts';

const OF = { spec: SPEC, shards: 6, units: UNITS.length, router: createIdRouter({ shards: 6 }) };
const IDS = Array.from({ length: 30 }, (_, id) => BigInt(id));

const pushOf = (task: number, push: number): Update => ({
  ...{ type: 'push', push: { pass: 0, task, push, last: false, good: 10 * (push + 1) }, rateScale: 1 },
  ...{ shards: [0, 1, 2, 3, 4, 5], dense: [] },
  sparse: [
    rowsPart(
      0,
      IDS,
      IDS.flatMap(() => [1, 2, 3]),
    ),
  ],
});

class Committing {
  readonly rig = new CopiedRig(SGD);
  readonly applied: string[] = [];
  readonly each: string[] = [];
  readonly unfit: number[] = [];
  readonly committed: CommittedUpdates;

  /** At the primary, or at a backup with copies of all units. */
  constructor(at: 'primary' | 'backup') {
    const { rig } = this;
    if (at === 'backup') for (const unit of UNITS) rig.adopt(unit);
    this.committed = new CommittedUpdates({
      ...{ of: OF, owned: at === 'primary' ? rig.primary : rig.backup, copied: rig.copies, times: UNTIMED },
      onApplied: (payload, units) => this.applied.push(`${payload.order}: ${units}`),
      onEach: (units) => this.each.push(units.join()),
      onUnfit: (units) => this.unfit.push(...units),
    });
  }

  update(order: number, update: Update): SharedUpdate {
    return new SharedUpdate({ of: OF, order, update, units: UNITS });
  }
}

describe('what is committed', () => {
  it('is applied to all its units at one go, in order', () => {
    const at = new Committing('primary');
    const [first, second] = [at.update(1, pushOf(0, 0)), at.update(2, pushOf(0, 1))];
    // A unit may commit both before another one commits the first.
    at.committed.add(1, first);
    at.committed.add(1, second);
    for (const unit of [0, 2]) at.committed.add(unit, first);
    at.committed.apply();
    expect(at.applied).toEqual(['1: 0,1,2', '2: 1']);
    expect(at.each).toEqual(['1,0,2', '1']);
    for (const unit of [2, 0]) at.committed.add(unit, second);
    at.committed.apply();
    expect(at.applied.at(-1)).toBe('2: 0,2');
    const { primary } = at.rig;
    expect([0, 1, 2, 3, 4, 5].map((shard) => primary.momentOf(shard).seq)).toEqual([2, 2, 2, 2, 2, 2]);
    expect(primary.ledgers.position(0, 0)).toBe(2);
    // It is raised when the last unit has decided.
    expect(primary.version).toBe(0);
  });

  it('is applied in the order of each unit, whatever the order of arrival', () => {
    const at = new Committing('backup');
    // The backup has received the first update again, after the second one.
    const [second, first] = [at.update(1, pushOf(1, 0)), at.update(2, pushOf(0, 0))];
    for (const payload of [first, second]) for (const unit of [0, 1]) at.committed.add(unit, payload);
    at.committed.add(2, second);
    at.committed.apply();
    expect(at.each).toEqual(['0,1', '0,1,2']);
    // Two units that have two updates in different orders.
    const [third, fourth] = [at.update(3, pushOf(2, 0)), at.update(4, pushOf(0, 1))];
    at.committed.add(0, third);
    at.committed.add(0, fourth);
    at.committed.add(1, fourth);
    at.committed.add(1, third);
    at.committed.apply();
    expect(at.each.slice(2)).toEqual(['0', '0,1', '1']);
    expect(at.unfit).toEqual([]);
  });

  it('is applied to copies as to units that are led', () => {
    const at = new Committing('backup');
    const update = pushOf(0, 0);
    const led = new Committing('primary');
    for (const unit of UNITS) led.rig.adopt(unit);
    for (const one of [at, led]) {
      const payload = one.update(1, update);
      for (const unit of UNITS) one.committed.add(unit, payload);
      one.committed.apply();
    }
    expect(at.applied).toEqual([]);
    expect(at.each).toEqual(['0,1,2']);
    expect(at.rig.values().copied).toEqual(led.rig.values().led);
    for (const unit of UNITS) expect(at.rig.positionsOf(unit).copied).toEqual(led.rig.positionsOf(unit).led);
  });

  it('closes tasks in the units that have committed that', () => {
    const at = new Committing('primary');
    at.committed.add(1, at.update(1, { type: 'close', tasks: [{ pass: 0, task: 1, records: 100 }] }));
    at.committed.apply();
    expect(at.rig.primary.ledgers.openIn(0, 1)).toEqual([0, 2, 3, 5]);
    expect(at.rig.primary.momentOf(1).seq).toBe(1);
  });

  it('that does not fit a copy is told', () => {
    const at = new Committing('backup');
    const payload = at.update(1, pushOf(0, 3));
    at.committed.add(1, payload);
    at.committed.apply();
    expect(at.unfit).toEqual([1]);
  });
});
