/** The heads of a pserver's units: what they say of its last state, one change at a time. */
import { beforeEach, describe, expect, it } from 'vitest';
import { changeHeads } from '../../../../src/cluster/placement/change-heads.ts';
import { type Head, parseHead, takenBy } from '../../../../src/cluster/placement/heads.ts';
import type { DecidedHead, StoredHead } from '../../../../src/cluster/placement/propose-heads.ts';
import type { HandOver } from '../../../../src/core/units/move-source-events.ts';
import { beforeUpdates } from '../../../../src/roles/pserver/files/first-update.ts';
import { OwnedHeads, type UnitProposal } from '../../../../src/roles/pserver/held/owned-heads.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { failureOf } from '../../../store/support.ts';
import { aStore, Master, settled } from '../../master/tasks/service-rig.ts';

const ME = { index: 0, token: '7' };
const REST = { index: 0, uuid: '504ec9a6-7a47-4c17-9e1b-7a364a8cfbe0' };
const UNITS = [0, 3];

let data: MemoryStoreData;
let actor: Master;
let heads: OwnedHeads;

beforeEach(async () => {
  const store = aStore();
  data = store.data;
  actor = new Master(store.clock, data);
  const by = { context: actor.context, fence: actor.fence };
  const changes = UNITS.map((unit) => ({ unit, modRevision: 0n, head: takenBy(ME, undefined, REST) }));
  const taken = await changeHeads(by, changes);
  heads = new OwnedHeads(
    by,
    taken.map(({ unit, head, modRevision }) => ({ unit, head: head!, modRevision })),
  );
});

const headOf = (unit: number): Head => parseHead('head', data.get(actor.context.keys.head(unit))!.value);
const heldBack = (): Promise<void> => actor.clock.advance(60_000);

describe('the last state', () => {
  it('is named by every head, until something is about to be applied, and from the last save on', async () => {
    expect(heads.areResting).toBe(true);
    await heads.wake();
    expect(heads.areResting).toBe(false);
    for (const unit of UNITS) expect(headOf(unit)).toEqual({ epoch: 2, led: 1, primary: ME, inSync: [ME] });
    await heads.rest(REST);
    for (const unit of UNITS) expect(headOf(unit)).toMatchObject({ epoch: 3, led: 1, rest: REST });
    expect(heads.of(3)!.head).toEqual(headOf(3));
  });

  it('is named by the heads of some units, as the others are in another file', async () => {
    await heads.wake();
    await heads.rest(REST, [3]);
    const named = UNITS.filter((unit) => (headOf(unit) as { rest?: unknown }).rest !== undefined);
    expect([named, heads.areResting]).toEqual([[3], true]);
  });

  it('is written once', async () => {
    const revision = data.get(actor.context.keys.head(0))!.modRevision;
    await heads.rest(REST);
    expect(data.get(actor.context.keys.head(0))!.modRevision).toBe(revision);
  });

  it('is named after changes that were asked for before, and that took long', async () => {
    actor.troubled.next('unavailable', 'unknownLate', 'unknownLanded');
    const both = Promise.all([heads.wake(), heads.rest(REST)]);
    await heldBack();
    await both;
    expect(actor.troubled.landLate()).toEqual([false]);
    for (const unit of UNITS) expect(headOf(unit)).toMatchObject({ epoch: 3, rest: REST });
  });

  it('is not named by one that has lost its index', async () => {
    data.txn({ if: [], then: [{ delete: actor.fence.key }] });
    expect(await failureOf(heads.wake())).toMatchObject({ code: 'LeaseGone' });
    expect(headOf(0).rest).toEqual(REST);
  });
});

describe('a hand-over', () => {
  const index = 4;
  /** The target claims its index. */
  function claimed(): HandOver {
    const { keys } = actor.context;
    data.txn({ if: [], then: [{ put: keys.ps(index), value: 'localhost:1' }] });
    const target = { index, token: String(data.get(keys.ps(index))!.createRevision) };
    return { unit: 3, from: 1, epoch: 2, primary: target, alive: [ME, target] };
  }

  it('names the target, and leaves the other heads alone; later changes leave the head of the unit alone', async () => {
    const change = claimed();
    expect(await heads.handOver(change)).toEqual({ outcome: 'succeeded' });
    const { primary } = change;
    expect(headOf(3)).toEqual({ epoch: 2, led: 2, primary, inSync: [primary] });
    expect(headOf(0)).toMatchObject({ epoch: 1, primary: ME });
    await heads.wake();
    expect(headOf(3).primary).toEqual(primary);
    expect(headOf(0).epoch).toBe(2);
    heads.remove(3);
    expect(heads.units()).toEqual([0]);
  });

  it('fails when the target has lost its index, even to another process', async () => {
    const change = claimed();
    const { keys } = actor.context;
    data.txn({ if: [], then: [{ delete: keys.ps(index) }] });
    expect(await heads.handOver(change)).toEqual({ outcome: 'failed', primary: ME });
    claimed();
    expect(await heads.handOver(change)).toEqual({ outcome: 'failed', primary: ME });
    expect(headOf(3)).toMatchObject({ epoch: 1, primary: ME });
    await heads.wake();
    expect(headOf(3).epoch).toBe(2);
  });

  it('fails when the head has changed since the move began', async () => {
    const change = claimed();
    await heads.wake();
    expect(await heads.handOver(change)).toEqual({ outcome: 'failed', primary: ME });
    expect(headOf(3)).toMatchObject({ epoch: 2, primary: ME });
  });

  it('succeeds when an attempt without an answer had landed, and no attempt lands late', async () => {
    actor.troubled.next('unavailable', 'unknownLate', 'unknownLanded');
    const done = heads.handOver(claimed());
    await heldBack();
    expect(await done).toEqual({ outcome: 'succeeded' });
    expect(actor.troubled.landLate()).toEqual([false]);
    expect(headOf(3)).toMatchObject({ epoch: 2, primary: { index } });
  });
});

describe('what copies propose', () => {
  const JOINER = { index: 4, token: '' };
  let decided: DecidedHead[];
  const onDecided = (one: DecidedHead): void => void decided.push(one);
  const ofUnit = (unit: number): StoredHead => heads.of(unit)!;

  beforeEach(() => {
    decided = [];
    const { keys } = actor.context;
    data.txn({ if: [], then: [{ put: keys.ps(JOINER.index), value: 'localhost:1' }] });
    JOINER.token = String(data.get(keys.ps(JOINER.index))!.createRevision);
    const { context, fence } = actor;
    const me = { index: 0, token: fence.token.toString() };
    for (const unit of UNITS) {
      const head = takenBy(me, undefined, REST);
      const { revision } = data.txn({ if: [], then: [{ put: keys.head(unit), value: JSON.stringify(head) }] });
      heads.remove(unit);
      heads.add({ unit, head, modRevision: revision });
    }
    heads = new OwnedHeads({ context, fence, areCopied: true }, [...heads.all()]);
  });

  const adding = (unit: number): UnitProposal => {
    const { epoch, primary } = ofUnit(unit).head;
    const head = { epoch: epoch + 1, primary, inSync: [primary, JOINER] };
    return { unit, proposal: { kind: 'add', from: epoch, head, alive: [JOINER], gone: [] }, known: ofUnit(unit) };
  };

  it('is made in turn with what else changes, which begins no epoch', async () => {
    const waking = heads.wake();
    await heads.propose([adding(0), adding(3)], onDecided);
    await waking;
    expect(decided.map(({ outcome }) => outcome.outcome)).toEqual(['succeeded', 'succeeded']);
    for (const unit of UNITS) {
      expect(headOf(unit)).toMatchObject({ epoch: 2, led: 1, inSync: [{ index: 0 }, JOINER] });
      expect(headOf(unit).rest).toBeUndefined();
      expect(heads.of(unit)!.head).toEqual(headOf(unit));
    }
    await heads.rest(REST);
    expect(headOf(0)).toMatchObject({ epoch: 2, rest: REST });
    expect(heads.areResting).toBe(true);
  });

  it('fails without a transaction when it was made of an older head', async () => {
    const late = adding(0);
    await heads.propose([adding(0)], onDecided);
    const revision = data.get(actor.context.keys.head(0))!.modRevision;
    await heads.propose([late], onDecided);
    expect(decided[1]).toMatchObject({ from: 1, outcome: { outcome: 'failed', head: { epoch: 2 } } });
    expect(data.get(actor.context.keys.head(0))!.modRevision).toBe(revision);
  });

  it('leaves a unit alone that was handed over, until it is removed', async () => {
    await heads.propose([adding(0)], onDecided);
    const { epoch, inSync } = ofUnit(0).head;
    const head = { epoch: epoch + 1, primary: JOINER, inSync };
    const proposal = { kind: 'handOver', from: epoch, head, alive: [JOINER], gone: [] } as const;
    await heads.propose([{ unit: 0, proposal, known: ofUnit(0) }], onDecided);
    expect(headOf(0)).toMatchObject({ epoch: 3, led: 3, primary: JOINER });
    await heads.wake();
    expect(headOf(0)).toMatchObject({ epoch: 3, primary: JOINER });
    expect(headOf(3).rest).toBeUndefined();
  });

  it('may be of a unit that is not owned yet', async () => {
    const known = ofUnit(3);
    const proposed = adding(3);
    heads.remove(3);
    await heads.propose([proposed], onDecided);
    expect(decided).toMatchObject([{ outcome: { outcome: 'succeeded' }, now: { unit: 3, head: { epoch: 2 } } }]);
    expect(known.head.epoch).toBe(1);
    expect(heads.units()).toEqual([0]);
  });
});

describe('the first update', () => {
  const state = { isFrozen: false, fatal: [] as unknown[] };
  const gate = () =>
    beforeUpdates({ heads, isFrozen: () => state.isFrozen, onFatal: (error) => state.fatal.push(error) });
  beforeEach(() => {
    state.isFrozen = false;
    state.fatal = [];
  });

  it('waits until no head names a file as the last state; those after it wait for nothing', async () => {
    const before = gate();
    actor.troubled.hold();
    const waiting = before();
    expect(waiting).toBeInstanceOf(Promise);
    expect(before()).toBe(waiting);
    await settled();
    expect(headOf(0).rest).toEqual(REST);
    actor.troubled.releaseHold();
    await waiting;
    expect(headOf(0).rest).toBeUndefined();
    expect(before()).toBeUndefined();
  });

  it('changes nothing once the last state is being saved', () => {
    state.isFrozen = true;
    expect(gate()()).toBeUndefined();
    expect(headOf(0).rest).toEqual(REST);
  });

  it('is refused with Suspended when the index is lost, which ends the process', async () => {
    data.txn({ if: [], then: [{ delete: actor.fence.key }] });
    expect(await failureOf(gate()()!)).toMatchObject({ code: 'Suspended' });
    expect(state.fatal).toMatchObject([{ code: 'LeaseGone' }]);
  });
});
