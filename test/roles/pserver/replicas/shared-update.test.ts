/** An update of several units: the size of each part, and what each peer gets of it. */

import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { roomOfPart } from '../../../../src/core/replicas/peer-link.ts';
import { mostRoom } from '../../../../src/roles/pserver/replicas/room.ts';
import type { UnitParts } from '../../../../src/roles/pserver/update/parts.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import { blockLength } from '../../../../src/tensor/blocks.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import * as fc from '../../../properties.ts';
import { idBytes, table } from '../../../tensor/fixture.ts';
import { applyingOf, drawnUpdate, gradientsOf, PARTS, shardOfBlockIn, shardOfRowIn, unitOfRow } from './updates.ts';

const made = (update: Update, units: readonly number[]): SharedUpdate =>
  new SharedUpdate({ of: PARTS, order: 1, update, units });

interface Row {
  readonly table: number;
  readonly id: bigint;
  readonly gradient: readonly number[];
}

const floats = (bytes: Uint8Array): number[] => [...new Float32Array(new Uint8Array(bytes).buffer)];
const idsOf = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(new Uint8Array(bytes).buffer)];
const byId = (a: Row, b: Row): number => a.table - b.table || (a.id < b.id ? -1 : 1);

/** The rows of those shards, whatever their order. */
function rowsIn(update: Update, shards: readonly number[]): Row[] {
  if (update.type === 'close') return [];
  const rows = update.sparse.flatMap(({ table, ids, gradients }) => {
    const all = floats(gradients);
    const { width } = PARTS.spec.sparse[table]!;
    return idsOf(ids).map((id, at) => ({ table, id, gradient: all.slice(at * width, (at + 1) * width) }));
  });
  return rows.filter(({ table, id }) => shards.includes(shardOfRowIn(table, id))).sort(byId);
}

/** Blocks and the first of their gradients. */
function blocksIn(update: Update, shards: readonly number[]): number[][] {
  if (update.type === 'close') return [];
  return update.dense.flatMap(({ parameter, blocks, gradients }) => {
    const all = floats(gradients);
    let at = 0;
    const found: number[][] = [];
    for (const block of blocks) {
      const length = blockLength(PARTS.spec.dense[parameter]!, block);
      if (shards.includes(shardOfBlockIn(parameter, block))) found.push([parameter, block, length, all[at]!]);
      at += length;
    }
    expect(all).toHaveLength(at);
    return found;
  });
}

function bytesIn(update: Update, unit: number): number {
  const shards = applyingOf(update, unit);
  const rows = rowsIn(update, shards).reduce((sum, { gradient }) => sum + 8 + 4 * gradient.length, 0);
  const blocks = blocksIn(update, shards).reduce((sum, [, , length]) => sum + 4 + 4 * length!, 0);
  if (update.type === 'close') return 64 * update.tasks.length;
  return rows + blocks + (update.type === 'push' ? 4 * shards.length : 64 * update.batches.length);
}

const shardsIn = (update: Update, units: readonly number[]): number[] =>
  units.flatMap((unit) => applyingOf(update, unit)).sort((a, b) => a - b);

/** Not its rows and blocks, and what it would be applied to. */
const rest = (update: Update): unknown => ({ ...update, dense: [], sparse: [], shards: [] });

const bordersOf = (update: Update): Uint8Array[] =>
  update.type === 'close'
    ? []
    : [
        ...update.dense.flatMap(({ blocks, gradients }) => [new Uint8Array(blocks.buffer), gradients]),
        ...update.sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
      ];

/** As when the request that it came in is gone. */
function overwrite(update: Update): void {
  for (const array of bordersOf(update)) array.fill(0xff);
}

describe('an update of several units', () => {
  it('has the size of the part of each unit', () => {
    fc.assert(
      fc.property(drawnUpdate, ({ update, units }) => {
        const { bytesByUnit } = made(update, units);
        expect([...bytesByUnit]).toEqual(
          [...units].sort((a, b) => a - b).map((unit): [number, number] => [unit, bytesIn(update, unit)]),
        );
      }),
    );
  });

  it('has in each part the rows, blocks and shards of these units, and no others', () => {
    fc.assert(
      fc.property(drawnUpdate, fc.infiniteStream(fc.boolean()), ({ update, units }, coins) => {
        const payload = made(update, units);
        const some = payload.units.filter(() => coins.next().value);
        const part = payload.partOf(some);
        const shards = shardsIn(update, some);
        const all = Array.from({ length: PARTS.shards }, (_, shard) => shard);
        expect(rowsIn(part, all)).toEqual(rowsIn(update, shards));
        expect(blocksIn(part, all)).toEqual(blocksIn(update, shards));
        expect(part.type === 'push' ? part.shards : shards).toEqual(shards);
        expect(rest(part)).toEqual(rest(update));
      }),
    );
  });

  it('is of the same size where it arrives, in part or whole', () => {
    fc.assert(
      fc.property(drawnUpdate, fc.infiniteStream(fc.boolean()), ({ update, units }, coins) => {
        const payload = made(update, units);
        const some = payload.units.filter(() => coins.next().value);
        const there = made(payload.partOf(some), some);
        expect(there.units).toEqual(some);
        for (const unit of some) expect(there.bytesByUnit.get(unit)).toBe(payload.bytesByUnit.get(unit));
        expect(there.hasOthers).toBe(false);
      }),
    );
  });

  it('stays as it is when the memory that it came in is gone', () => {
    fc.assert(
      fc.property(drawnUpdate, ({ update, units }) => {
        const payload = made(update, units);
        const shards = shardsIn(update, units);
        const [rows, blocks] = [rowsIn(update, shards), blocksIn(update, shards)];
        const some = payload.units.slice(1);
        const part = payload.partOf(some);
        const before = { rows: rowsIn(part, shards), blocks: blocksIn(part, shards) };
        payload.own();
        overwrite(update);
        expect([rowsIn(payload.update, shards), blocksIn(payload.update, shards)]).toEqual([rows, blocks]);
        expect({ rows: rowsIn(part, shards), blocks: blocksIn(part, shards) }).toEqual(before);
        expect(rowsIn(payload.partOf(units.slice(0, 1)), shards)).toEqual(
          rows.filter(({ table, id }) => unitOfRow(table, id) === units[0]),
        );
      }),
    );
  });
});

const POSITION = { pass: 0, task: 0, push: 0, last: false, good: 1 };
const IDS = Array.from({ length: 20 }, (_, id) => BigInt(id));
const PUSH: Update = {
  ...{ type: 'push', push: POSITION, rateScale: 1, shards: [0, 1, 2, 3, 4, 5, 6, 7, 8] },
  ...gradientsOf([{ parameter: 0, blocks: [0, 1, 2] }], [{ table: 0, ids: IDS }]),
};

/** A table of rows of 256 KiB. */
const WIDE: UnitParts = {
  ...{ shards: 2, units: 2, router: createIdRouter({ shards: 2 }) },
  spec: table(2 ** 16),
};
const wide = (rows: number): SharedUpdate => {
  const ids = idBytes(Array.from({ length: rows }, (_, id) => BigInt(id)));
  const sparse = [{ table: 0, ids, gradients: new Uint8Array(0) }];
  const update = { type: 'push', push: POSITION, rateScale: 1, shards: [0, 1], dense: [], sparse } as const;
  return new SharedUpdate({ of: WIDE, order: 1, update, units: [0, 1] });
};

it('an update that no frame carries to a peer is refused', () => {
  const most = Math.floor((LIMITS.replicatedBytes - 2 * 4) / (4 * 2 ** 16 + 8));
  const largest = wide(most);
  expect(() => largest.checkFrame()).not.toThrow();
  const { bytesByUnit } = largest;
  const room = [...bytesByUnit.values()].reduce((sum, bytes) => sum + roomOfPart(bytes), 0);
  expect(room).toBeLessThanOrEqual(mostRoom(2));
  expect(() => wide(most + 1).checkFrame()).toThrow(expect.objectContaining({ code: 'FrameTooLarge' }));
});

it('a closure and a round of the largest lists take no more room than any update may', () => {
  const metrics = { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 };
  const batches = Array.from({ length: LIMITS.lanes }, () => ({ position: POSITION, metrics }));
  const tasks = Array.from({ length: LIMITS.closedTasksAtOnce }, () => ({ pass: 0, task: 0, records: 1 }));
  for (const update of [
    { type: 'close', tasks } as const,
    { type: 'round', timeline: 0, round: 0, batches, dense: [], sparse: [] } as const,
  ]) {
    const { bytesByUnit } = new SharedUpdate({ of: WIDE, order: 1, update, units: [0, 1] });
    const room = [...bytesByUnit.values()].reduce((sum, bytes) => sum + roomOfPart(bytes), 0);
    expect(room).toBeLessThanOrEqual(mostRoom(2));
  }
});

describe('a push', () => {
  it('concerns those of the units that have shards which apply it', () => {
    const { units, update } = made({ ...PUSH, shards: [2, 3] }, [0, 3, 5]);
    expect([units, update]).toMatchObject([[3], { shards: [3] }]);
  });

  it('makes one part for peers that have copies of the same units', () => {
    const payload = made(PUSH, [0, 1, 2, 3, 4, 5]);
    expect(payload.partOf([1, 3])).toBe(payload.partOf([1, 3]));
    expect(payload.partOf([1, 4])).not.toBe(payload.partOf([1, 3]));
    expect(payload.partOf([0, 1, 2, 3, 4, 5])).toBe(payload.update);
    expect(() => made(PUSH, [1]).partOf([2])).toThrow('concerns');
  });
});
