/** What a pserver that has lost its index saves of units that others led: all that may have been acknowledged. */
import { beforeEach, expect, it, vi } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { Head, Owner } from '../../../../src/cluster/placement/heads.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { LastCopies } from '../../../../src/roles/pserver/replicas/last-copies.ts';
import { UnitMachines } from '../../../../src/roles/pserver/replicas/machines.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { A, B } from '../../../core/replicas/copies.ts';
import { put } from '../../../store/support.ts';
import { SGD } from '../../../tensor/fixture.ts';
import { aStore, Master } from '../../master/tasks/service-rig.ts';
import { CopiedRig, type Gradients, type Push, SPEC, UNITS } from './copied-rig.ts';

const OF = { spec: SPEC, shards: 6, units: UNITS.length, router: createIdRouter({ shards: 6 }) };
const EPOCH = 4;
const GRADIENTS: Gradients = { ids: [1, 2, 3, 4, 5, 6], block: 0, gradient: 1 };
const GONE: Owner = { index: 3, token: '9' };

let rig: CopiedRig;
let clock: ReturnType<typeof aStore>['clock'];
let actor: Master;
let machines: UnitMachines<SharedUpdate>;
let last: LastCopies;

beforeEach(async () => {
  rig = new CopiedRig(SGD);
  const store = aStore();
  ({ clock } = store);
  actor = new Master(clock, store.data);
  machines = new UnitMachines({
    ...{ clock, me: B, isHeld: () => true, isGone: () => false, silenceMs: 1_000, minInSync: 1 },
    onTurn: (steps) => {
      for (const { unit, effects } of steps)
        for (const effect of effects) if (effect.type === 'commit') rig.copies.apply([unit], effect.update.payload);
    },
    onFatal: (error) => {
      throw error;
    },
  });
  for (const unit of UNITS) {
    rig.adopt(unit);
    machines.add(unit, Replica.copied({ epoch: EPOCH, primary: A }, 0));
    machines.step(unit, { type: 'seen', head: { epoch: EPOCH, primary: A, inSync: [A, B] }, isPrimaryAlive: true });
    const begin = { type: 'begin', base: 0, tail: [], committed: 0 } as const;
    machines.step(unit, { type: 'frame', link: linkOf(unit), frame: begin });
    await name(unit);
  }
  last = new LastCopies({ context: actor.context, me: B, machines, copied: rig.copies });
});

const linkOf = (unit: number) => ({ unit, epoch: EPOCH, primary: A, member: B });

const name = (unit: number, more: Partial<Head> = {}): Promise<unknown> => {
  const head: Head = { epoch: EPOCH, led: 1, primary: A, inSync: [A, B], ...more };
  return put(actor.context.store, actor.context.keys.head(unit), JSON.stringify(head));
};

/** At this position of all units; nothing is committed by it. */
function stage(position: number): Push {
  const update = rig.push(0, UNITS, GRADIENTS)!;
  const payload = new SharedUpdate({ of: OF, order: position, update, units: UNITS });
  for (const unit of UNITS) {
    const frame = { type: 'stage', update: { name: { position, epoch: EPOCH }, payload }, committed: 0 } as const;
    machines.step(unit, { type: 'frame', link: linkOf(unit), frame });
  }
  return update;
}

const commit = (committed: number): void => {
  for (const unit of UNITS)
    machines.step(unit, { type: 'frame', link: linkOf(unit), frame: { type: 'commit', committed } });
};

const unitsOf = (copies: Awaited<ReturnType<LastCopies['complete']>>): number[] => copies.map(({ unit }) => unit);

it('has everything that was staged, and what was committed and not applied yet', async () => {
  for (const position of [1, 2, 3]) stage(position);
  commit(1);
  await new Promise(setImmediate);
  commit(2);
  machines.close();
  const copies = await last.complete();
  expect(unitsOf(copies)).toEqual(UNITS);
  for (const { unit, moments } of copies) {
    expect(moments.map(({ shard, epoch, seq }) => [shard, epoch, seq])).toEqual(
      rig.primary.shardsOf(unit).map((shard) => [shard, EPOCH, 3]),
    );
    const { led, copied } = rig.positionsOf(unit);
    expect(copied).toEqual(led);
  }
  expect(rig.values().copied).toEqual(rig.values().led);
});

it('has it once, when the disk takes it at the second try only', async () => {
  stage(1);
  machines.close();
  await last.complete();
  await last.complete();
  expect(rig.values().copied).toEqual(rig.values().led);
});

it('has the units of which the store counts on it, in the epoch of their heads', async () => {
  await name(0, { inSync: [A, GONE] });
  await name(1, { rest: { index: A.index, uuid: '504ec9a6-7a47-4c17-9e1b-7a364a8cfbe0' } });
  await name(2, { epoch: EPOCH + 3, inSync: [A, GONE, B] });
  machines.close();
  const copies = await last.complete();
  expect(unitsOf(copies)).toEqual([2]);
  expect(copies[0]!.moments.map(({ epoch }) => epoch)).toEqual([EPOCH + 3, EPOCH + 3]);
});

it('has no copy that was given up, or that an update does not fit', async () => {
  stage(1);
  // Somebody else's: what is staged is not the next one of this copy.
  rig.apply([1], rig.close(0, [1]));
  machines.remove(2);
  machines.close();
  expect(unitsOf(await last.complete())).toEqual([0]);
  expect(unitsOf(await last.complete())).toEqual([0]);
});

it('waits for the store, even in a process that was asked to stop', async () => {
  vi.spyOn(actor.context.store, 'range').mockRejectedValueOnce(new PaddletError('StoreUnavailable', 'it is away'));
  const stopped = { ...actor.context, stop: AbortSignal.abort() };
  last = new LastCopies({ context: stopped, me: B, machines, copied: rig.copies });
  machines.close();
  const completing = last.complete();
  for (let turn = 0; turn < 10; turn++) await clock.advance(1_000);
  expect(unitsOf(await completing)).toEqual(UNITS);
});
