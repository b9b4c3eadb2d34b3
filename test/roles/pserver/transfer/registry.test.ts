/** The registry of moves: units go where the plan says while they are updated, and stay where something hinders. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MoveName } from '../../../../src/core/units/move-messages.ts';
import type { MovedRounds } from '../../../../src/roles/pserver/held/unit-rounds.ts';
import { aStore, stateOf } from '../../master/tasks/service-rig.ts';
import { JOB, type Pserver, Pservers, TTL_MS } from './registry-rig.ts';

const UNITS = [0, 1, 2, 3];

let world: Pservers;
let source: Pserver;

beforeEach(async () => {
  world = new Pservers(aStore());
  source = await world.start(UNITS);
});
afterEach(() => {
  world.end();
});

const unitsOf = (...pservers: Pserver[]): number[][] => pservers.map(({ shards }) => shards.heads.units());
const valuesOf = (pservers: readonly Pserver[]): unknown =>
  pservers
    .flatMap(({ shards }) =>
      shards.numbers.map((shard) => {
        const { ids, values } = shards.parameters.exportRows(shard, 0);
        const { seq, ledger } = shards.momentOf(shard);
        return { shard, ids: [...ids], values: [...values], seq, ledger: Buffer.from(ledger).toString('hex') };
      }),
    )
    .sort((a, b) => a.shard - b.shard);

describe('a pserver that comes', () => {
  it('gets half of the bytes while pushes are applied, and nothing is lost or applied twice', async () => {
    await source.push(0);
    const target = await world.start([]);
    for (let push = 1; push < 40; push++) {
      await world.clock.advance(50);
      for (const one of [source, target]) await one.push(push);
    }
    await world.pass();
    const [kept, come] = unitsOf(source, target);
    expect([kept!.length, come!.length]).toEqual([2, 2]);
    expect([...kept!, ...come!].sort()).toEqual(UNITS);
    expect([target.gained, source.outcomes]).toEqual([2, ['moved', 'moved']]);
    const plain = new Pservers(aStore());
    const alone = await plain.start(UNITS);
    for (let push = 0; push < 40; push++) await alone.push(push);
    expect(valuesOf([source, target])).toEqual(valuesOf([alone]));
    plain.end();
    expect([source.savesHeldBack, source.fatal, target.fatal]).toEqual([0, [], []]);
    for (const unit of come!) expect(world.headOf(unit)).toMatchObject({ epoch: 2, primary: target.me });
  });

  it('is given nothing before the cluster has been the same for a while', async () => {
    const target = await world.start([]);
    await world.pass(900);
    expect(unitsOf(target)).toEqual([[]]);
    target.tell('loading');
    await world.pass(2_000);
    expect(unitsOf(target)).toEqual([[]]);
    target.tell('up');
    await world.pass();
    expect(unitsOf(target)[0]).toHaveLength(2);
  });

  it('keeps its share while the model grows, though the last to tell its size looks too heavy', async () => {
    const target = await world.start([]);
    await world.pass();
    for (const one of [source, target]) one.tell('up');
    await world.pass(1_000);
    source.outcomes.length = 0;
    const both = [source, target];
    for (let megabytes = 2; megabytes < 512; megabytes *= 2) {
      for (const one of both) {
        one.tell('up', megabytes * 1_000_000);
        await world.pass(2_000);
      }
    }
    expect([source.outcomes, target.outcomes]).toEqual([[], []]);
    expect(unitsOf(source, target).map(({ length }) => length)).toEqual([2, 2]);
  });

  it('gives units away when it has grown for good', async () => {
    const target = await world.start([]);
    await world.pass();
    const [, own] = unitsOf(source, target);
    target.tell('up');
    source.tell('up', 100_000_000);
    await world.pass(4_500);
    expect(unitsOf(source, target)[1]).toEqual(own);
    await world.pass(1_500);
    expect(unitsOf(source, target)[1]).toHaveLength(3);
  });

  it('knows the recovery number under which its units were loaded before it leads them', async () => {
    const { keys } = source.actor.context;
    world.data.txn({ if: [], then: [{ put: keys.recovery, value: '7' }] });
    const target = await world.start([]);
    await world.pass();
    expect(Math.min(...target.recoveries)).toBe(7);
  });

  it('is not offered a unit whose head names a file: that is woken first', async () => {
    await source.shards.heads.rest({ index: 0, uuid: '00000000-0000-4000-8000-000000000000' });
    const target = await world.start([]);
    await world.pass();
    expect(unitsOf(target)[0]).toHaveLength(2);
    expect(UNITS.map((unit) => world.headOf(unit).rest)).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe('a unit stays', () => {
  it.each<[string, (target: Pserver) => void]>([
    ['where its pserver is frozen', () => source.be({ isFrozen: true })],
    ['where its pserver is cut off from the store', () => source.be({ isHeld: false })],
    ['when the target is frozen', (target) => target.be({ isFrozen: true })],
    ['when the target is cut off from the store', (target) => target.be({ isHeld: false })],
    ['when the target is loading it from a file', (target) => target.be({ isTaking: true })],
    ['when the target is leaving', (target) => target.tell('draining')],
    ['when the target does not answer', (target) => target.be({ isCutOff: true })],
  ])('%s', async (_, prevent) => {
    const target = await world.start([]);
    prevent(target);
    await world.pass(10_000);
    expect(unitsOf(source, target)).toEqual([UNITS, []]);
    expect(target.shards.parameters.shards()).toEqual([]);
    expect(source.moves.wait('update')).toBeUndefined();
  });

  it('as soon as the store shows that the target is gone', async () => {
    const target = await world.start([]);
    target.be({ isCutOff: true });
    await world.pass(2_000);
    expect(source.outcomes).toEqual([]);
    world.data.txn({ if: [], then: [{ delete: source.actor.context.keys.ps(target.index) }] });
    await world.pass(100);
    expect(source.outcomes).toEqual(['kept', 'kept']);
  });

  it('when the target dies with the copy; then it goes to the next one', async () => {
    const target = await world.start([]);
    source.actor.troubled.hold();
    await world.pass(2_000);
    expect(source.moves.wait('read')).toBeInstanceOf(Promise);
    world.data.txn({ if: [], then: [{ delete: source.actor.context.keys.ps(target.index) }] });
    target.isCutOff = true;
    source.actor.troubled.releaseHold();
    await world.pass(2_000);
    expect(unitsOf(source)).toEqual([UNITS]);
    expect(source.moves.wait('update')).toBeUndefined();
    const other = await world.start([]);
    await world.pass();
    expect(unitsOf(other)[0]).toHaveLength(2);
  });
});

describe('a copy', () => {
  it('is not to be loaded from a file until it is given up, as when its source dies', async () => {
    const target = await world.start([]);
    source.actor.troubled.hold();
    await world.pass(2_000);
    const coming = UNITS.filter((unit) => target.moves.isComing(unit));
    expect(coming).toHaveLength(2);
    source.isCutOff = true;
    world.data.txn({ if: [], then: [{ delete: source.actor.context.keys.ps(0) }] });
    await world.pass(200);
    expect(UNITS.some((unit) => target.moves.isComing(unit))).toBe(false);
    expect([target.givenUp, target.shards.parameters.shards(), target.gained]).toEqual([2, [], 0]);
    source.actor.troubled.releaseHold();
    await world.pass(200);
    expect(unitsOf(target)).toEqual([[]]);
    expect(source.fatal[0]).toMatchObject({ code: 'LeaseGone' });
  });

  it('outlives a pause of both processes', async () => {
    const target = await world.start([]);
    source.actor.troubled.hold();
    await world.pass(2_000);
    world.clock.jump(2 * TTL_MS);
    for (const one of [source, target]) one.resume();
    source.actor.troubled.releaseHold();
    await world.pass();
    expect(unitsOf(target)[0]).toHaveLength(2);
    expect(source.outcomes).toEqual(['moved', 'moved']);
  });

  it('is refused for a unit that the job does not have, and from the pserver itself', async () => {
    const other = { index: 3, token: '1' };
    const name: MoveName = { purpose: 'lead', unit: JOB.units, epoch: 1, source: other, target: source.me, attempt: 1 };
    await expect(source.moves.received({ type: 'abandon', name })).rejects.toMatchObject({ code: 'BadMessage' });
    const own = { ...name, unit: 0, source: source.me };
    await expect(source.moves.received({ type: 'abandon', name: own })).rejects.toMatchObject({ code: 'BadMessage' });
  });
});

describe('a pserver that leaves', () => {
  const never = new AbortController().signal;

  it('hands over everything at once, and takes nothing', async () => {
    const target = await world.start([]);
    const left = source.moves.leave(never);
    await world.pass(900);
    expect(await left).toBe(true);
    expect(unitsOf(source, target)).toEqual([[], UNITS]);
  });

  it('keeps its units when no other pserver can take them, or not in time', async () => {
    expect(await source.moves.leave(never)).toBe(false);
    const target = await world.start([]);
    target.isFrozen = true;
    const limit = new AbortController();
    const left = source.moves.leave(limit.signal);
    await world.pass(2_000);
    expect(await stateOf(left)).toBe('open');
    limit.abort();
    expect(await left).toBe(false);
    expect(unitsOf(source, target)).toEqual([UNITS, []]);
  });

  it('has not left while units that came outdated have yet to be loaded: it leads them', async () => {
    let hasOutdated = true;
    const rounds = { hasOutdated: () => hasOutdated } as MovedRounds;
    const one = await world.start([], rounds);
    const left = one.moves.leave(never);
    await world.pass(500);
    expect(await stateOf(left)).toBe('open');
    hasOutdated = false;
    one.moves.recheck();
    expect(await left).toBe(true);
  });

  it('stops only when the store has said what becomes of its units', async () => {
    const target = await world.start([]);
    source.actor.troubled.hold();
    await world.pass(2_000);
    const stopped = source.moves.stop();
    expect(await stateOf(stopped)).toBe('open');
    source.actor.troubled.releaseHold();
    await world.pass(100);
    await stopped;
    expect(unitsOf(source, target).map(({ length }) => length)).toEqual([2, 2]);
    await world.pass();
    expect(unitsOf(source)[0]).toHaveLength(2);
  });

  it('keeps in memory what its last file is being written of, whatever the store decides then', async () => {
    const target = await world.start([]);
    source.actor.troubled.hold();
    await world.pass(2_000);
    source.moves.close();
    source.actor.troubled.releaseHold();
    await world.pass(2_000);
    expect(world.headOf(unitsOf(target)[0]![0]!).primary).toEqual(target.me);
    expect(unitsOf(source)[0]).toEqual([0, 1, 2, 3]);
  });

  it('ends waits of requests, and holds no save back, when its index is lost', async () => {
    await world.start([]);
    source.actor.troubled.hold();
    await world.pass(2_000);
    const waiting = source.moves.wait('read')!;
    const stopped = source.moves.stop();
    expect(source.savesHeldBack).toBeGreaterThan(0);
    source.lost.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'Suspended' });
    await stopped;
    expect(source.savesHeldBack).toBe(0);
  });
});
