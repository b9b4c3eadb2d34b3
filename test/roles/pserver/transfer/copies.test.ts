/** Backup copies of units are made while these are updated: nothing waits, and each has everything up to its seal. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { MoveName, UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { CopiedUnits } from '../../../../src/roles/pserver/replicas/copied-units.ts';
import type { BackupCopies } from '../../../../src/roles/pserver/transfer/moves.ts';
import type { CopyFor, Outgoing } from '../../../../src/roles/pserver/transfer/outgoing.ts';
import { aStore } from '../../master/tasks/service-rig.ts';
import { JOB, type Pserver, Pservers, TTL_MS } from './registry-rig.ts';

/** Of each shard the updates are counted, as of the unit: all of these concern every unit. */
const UNIT = 1;
const SHARDS = [UNIT, UNIT + JOB.units];

let world: Pservers;
let source: Pserver;
let backups: Map<Pserver, Backups>;

/** Who keeps and makes the copies of a pserver, without replicas. */
class Backups implements BackupCopies {
  readonly copied: CopiedUnits;
  readonly told: string[] = [];
  readonly positions: number[] = [];
  roleOf: 'joining' | 'member' = 'joining';
  /** Copies are sealed as soon as they may be. */
  seals = true;
  why: Error | undefined;
  readonly #of: Pserver;

  constructor(of: Pserver) {
    this.#of = of;
    this.copied = new CopiedUnits({ owned: of.shards, log: of.actor.log });
  }

  get made(): Outgoing {
    return this.#of.moves.outgoing;
  }

  seal(copy: CopyFor): boolean {
    return this.made.seal(copy, committed(this.#of));
  }

  readonly maker = {
    caughtUp: (copy: CopyFor): void => {
      this.told.push('caughtUp');
      if (this.seals) expect(this.seal(copy)).toBe(true);
    },
    copied: ({ target }: CopyFor): void => void this.told.push(`copied ${target.index}`),
    unconfirmed: (_: CopyFor, reason: string): void => void this.told.push(reason),
    ended: ({ target }: CopyFor): void => void this.told.push(`ended ${target.index}`),
  };

  readonly keeper = {
    role: (unit: number) => (this.copied.units().includes(unit) ? this.roleOf : 'none'),
    adopt: ({ unit }: MoveName, filled: Parameters<CopiedUnits['adopt']>[1], position: number): void => {
      if (this.why !== undefined) throw this.why;
      this.copied.adopt(unit, filled);
      this.positions.push(position);
    },
    abandoned: ({ unit }: MoveName): void => this.copied.discard(unit),
  };
}

const make = (pserver: Pserver): Backups => {
  const one = new Backups(pserver);
  backups.set(pserver, one);
  return one;
};
const of = (pserver: Pserver): Backups => backups.get(pserver)!;
const committed = (pserver: Pserver): number => pserver.shards.momentOf(UNIT).seq;

beforeEach(async () => {
  backups = new Map();
  world = new Pservers(aStore());
  source = await world.start([0, UNIT, 2, 3], undefined, make);
  // It hands nothing over.
  source.be({ isFrozen: true });
});
afterEach(() => {
  world.end();
});

const startTarget = (): Promise<Pserver> => world.start([], undefined, make);

function begin(target: Pserver): CopyFor {
  const { index, me } = target;
  const live = { index, address: `host:${index}`, token: BigInt(me.token) };
  of(source).made.copy(UNIT, live, committed(source));
  return { unit: UNIT, target: me };
}

const valuesAt = ({ shards }: Pserver): unknown =>
  SHARDS.map((shard) => {
    const { ids, values } = shards.parameters.exportRows(shard, 0);
    return [shard, [...ids], [...values]];
  });

function expectEqualCopies(target: Pserver): void {
  expect(valuesAt(target)).toEqual(valuesAt(source));
  const { ledgers, seqs } = of(target).copied.positions(UNIT);
  for (const shard of SHARDS) {
    const { seq, ledger } = source.shards.momentOf(shard);
    expect(seqs.get(shard)).toBe(seq);
    expect(Buffer.from(ledgers.get(shard)!).equals(ledger)).toBe(true);
  }
}

describe('a backup copy', () => {
  it('has everything that was applied when it was sealed, and its position', async () => {
    await source.push(0);
    await source.push(1);
    const target = await startTarget();
    const copy = begin(target);
    expect(of(source).made.follows(copy)).toBe(false);
    for (let push = 2; push < 5; push++) {
      await source.push(push);
      await new Promise(setImmediate);
    }
    await world.pass(200);
    expect(of(source).told).toEqual(['caughtUp', 'copied 1']);
    expect(of(target).positions).toEqual([committed(source)]);
    expectEqualCopies(target);
    expect(of(source).made.follows(copy)).toBe(true);
    expect(of(source).made.making()).toEqual(new Map([[UNIT, new Set([1])]]));
    expect(world.headOf(UNIT)).toMatchObject({ epoch: 1, primary: source.me, inSync: [source.me] });
    expect(target.moves.isComing(UNIT)).toBe(false);
    of(source).made.release(copy);
    expect(of(source).told.at(-1)).toBe('ended 1');
    expect(of(source).made.making()).toEqual(new Map());
    expect([source.fatal, target.fatal, source.outcomes]).toEqual([[], [], []]);
  });

  it('gets nothing more from its move when it is sealed, and lets no request wait', async () => {
    const target = await startTarget();
    of(source).seals = false;
    const copy = begin(target);
    await source.push(0);
    await world.pass(200);
    expect(of(source).seal(copy)).toBe(true);
    expect(source.moves.wait('update')).toBeUndefined();
    await source.push(1);
    await world.pass(200);
    expect(of(source).told).toEqual(['caughtUp', 'copied 1']);
    expect(of(target).positions).toEqual([1]);
    expect(of(target).copied.positions(UNIT).seqs.get(UNIT)).toBe(1);
  });

  it('is made for several processes at a time', async () => {
    const targets = [await startTarget(), await startTarget()];
    await source.push(0);
    for (const target of targets) begin(target);
    expect(of(source).made.making()).toEqual(new Map([[UNIT, new Set([1, 2])]]));
    await source.push(1);
    await world.pass(200);
    for (const target of targets) expectEqualCopies(target);
    expect(of(source).told.toSorted()).toEqual(['caughtUp', 'caughtUp', 'copied 1', 'copied 2']);
    of(source).made.releaseAll(UNIT);
    expect(of(source).made.making()).toEqual(new Map());
  });

  it('is freed when it was not taken into the head, and made again', async () => {
    const target = await startTarget();
    const copy = begin(target);
    await world.pass(200);
    expect(of(target).copied.units()).toEqual([UNIT]);
    of(source).made.joinFailed(copy);
    await world.pass(200);
    expect(of(source).told.at(-1)).toBe('ended 1');
    expect(of(target).copied.units()).toEqual([]);
    expect(target.shards.parameters.hasShard(UNIT)).toBe(false);
    await source.push(0);
    begin(target);
    await world.pass(200);
    expectEqualCopies(target);
  });

  it('makes way for the next one as long as it is in no head', async () => {
    const target = await startTarget();
    const copy = begin(target);
    await world.pass(200);
    await source.push(0);
    of(source).made.release(copy);
    begin(target);
    await world.pass(200);
    expect(of(target).positions).toEqual([0, 1]);
    expectEqualCopies(target);
    of(target).roleOf = 'member';
    of(source).made.release(copy);
    begin(target);
    await world.pass(200);
    expect(of(source).told.at(-1)).toBe('ended 1');
    expect(of(target).positions).toEqual([0, 1]);
  });

  it('that is sealed and not confirmed ends when the join has', async () => {
    const target = await startTarget();
    of(source).seals = false;
    const copy = begin(target);
    await world.pass(200);
    target.be({ isCutOff: true });
    of(source).seal(copy);
    await world.pass(2 * TTL_MS);
    expect(of(source).told).toEqual(['caughtUp', 'the target is silent']);
    expect(of(source).made.making().size).toBe(1);
    target.be({ isCutOff: false });
    of(source).made.joinFailed(copy);
    await world.pass(200);
    expect(of(source).told.at(-1)).toBe('ended 1');
    expect([of(target).copied.units(), target.moves.isComing(UNIT)]).toEqual([[], false]);
  });

  it('that is given up counts no more: another process has it, or the same one when it is reached again', async () => {
    const [target, other] = [await startTarget(), await startTarget()];
    of(source).seals = false;
    begin(target);
    await world.pass(200);
    target.be({ isCutOff: true });
    await source.push(0);
    await world.pass(2 * TTL_MS);
    expect(of(source).told).toEqual(['caughtUp', 'ended 1']);
    expect(of(source).made.making().size).toBe(0);
    of(source).seals = true;
    begin(other);
    await world.pass(200);
    expectEqualCopies(other);
    expect(of(source).told.slice(2)).toEqual(['caughtUp', 'copied 2']);
    begin(target);
    target.be({ isCutOff: false });
    await world.pass(TTL_MS);
    expectEqualCopies(target);
    expect(of(source).told.slice(4)).toEqual(['caughtUp', 'copied 1']);
  });

  it('that is not sealed is given up with what the pserver is about to do, and when its process is gone', async () => {
    const target = await startTarget();
    of(source).seals = false;
    begin(target);
    await world.pass(200);
    source.moves.keepAll('the last checkpoint is about to be taken');
    await world.pass(200);
    expect(of(source).told).toEqual(['caughtUp', 'ended 1']);
    expect(target.shards.parameters.hasShard(UNIT)).toBe(false);
    begin(target);
    await world.pass(200);
    world.data.txn({ if: [], then: [{ delete: target.actor.context.keys.ps(1) }] });
    await world.pass(200);
    expect(of(source).told.slice(2)).toEqual(['caughtUp', 'ended 1']);
  });

  it('that cannot be kept is refused: the join ends, and nothing of it stays', async () => {
    const target = await startTarget();
    of(target).why = new PaddletError('CheckpointCorrupt', 'a ledger cannot be read');
    const copy = begin(target);
    await world.pass(200);
    expect(of(source).told).toEqual(['caughtUp', 'a ledger cannot be read']);
    expect(target.shards.parameters.hasShard(UNIT)).toBe(false);
    of(source).made.joinFailed(copy);
    await world.pass(200);
    expect(of(source).told.at(-1)).toBe('ended 1');
  });

  it('is not made where none is kept, of a unit that is led there, or for a process that is in the head', async () => {
    const offered = async (to: Pserver, purpose: MoveName['purpose'], from: UnitOwner): Promise<unknown> => {
      const name: MoveName = { purpose, unit: UNIT, epoch: 1, source: from, target: to.me, attempt: 9 };
      return await to.moves.received({ type: 'offer', name, refusal: undefined });
    };
    const without = await world.start([]);
    const keepsNone = [{ type: 'refused', reason: 'it keeps no backup copies' }];
    expect(await offered(without, 'copy', source.me)).toMatchObject(keepsNone);
    expect(await offered(source, 'copy', without.me)).toMatchObject([{ type: 'refused' }]);
    const { keys } = source.actor.context;
    const target = await startTarget();
    const head = { ...world.headOf(UNIT), inSync: [source.me, target.me] };
    world.data.txn({ if: [], then: [{ put: keys.head(UNIT), value: JSON.stringify(head) }] });
    const isMember = [{ type: 'refused', reason: 'it has a copy of the unit' }];
    expect(await offered(target, 'copy', source.me)).toMatchObject(isMember);
  });
});
