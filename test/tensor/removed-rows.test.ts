/** Rows that are removed, in tables whose rows have a `seen`. parameters-model.test.ts has histories of them. */
import { describe, expect, test } from 'vitest';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import { createCounter } from '../../src/tensor/kernel-optimizer.ts';
import type { Parameters } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { SparseTable, workspaceBytes } from '../../src/tensor/sparse-table.ts';
import { applyAll, everything, HIGHEST, makeParameters, pullRows, rowsPart, table } from './fixture.ts';
import { indexEntries } from './index-entries.ts';

const WIDTH = 2;
const COUNT = 600;
const idsFrom = (first: number, count = COUNT): bigint[] =>
  Array.from({ length: count }, (_, at) => BigInt(first + 7 * at));
const IDS = idsFrom(0);
const SPEC = { dense: [], sparse: [{ ...table(WIDTH).sparse[0]!, hasSeen: true }] };

const make = (shards = 1, recallsPulls = true): Parameters => makeParameters({ spec: SPEC, shards, recallsPulls });
const push = (to: Parameters, ids: readonly bigint[], seen = 1): void =>
  to.push([rowsPart(0, ids, new Float32Array(ids.length * WIDTH).fill(0.5))], [], applyAll(1), {
    seen: Uint32Array.of(seen),
  });
const remove = (from: Parameters, ids: readonly bigint[]): number => from.removeIds(0, 0, BigUint64Array.from(ids));

/** What is left when nothing was pulled before. */
function without(...all: readonly ((to: Parameters) => void)[]): unknown {
  const parameters = make(1, false);
  for (const one of all) one(parameters);
  return everything(parameters, 1);
}

describe('removed rows', () => {
  test('have their initial values again, and start again when they are pushed', () => {
    const parameters = make();
    const initial = pullRows(parameters, 0, IDS, WIDTH);
    push(parameters, IDS);
    expect(remove(parameters, IDS.slice(0, 100))).toBe(100);
    expect(remove(parameters, IDS.slice(50, 150))).toBe(50);
    expect(parameters.stats().rows).toBe(COUNT - 150);
    expect(pullRows(parameters, 0, IDS.slice(0, 150), WIDTH)).toEqual(initial.slice(0, 150 * WIDTH));
    push(parameters, IDS.slice(0, 150));
    expect(everything(parameters, 1)).toEqual(without((to) => push(to, IDS)));
  });

  test('are not found where a pull has found them, and neither are other rows that are there now', () => {
    const parameters = make();
    push(parameters, IDS);
    pullRows(parameters, 0, IDS, WIDTH);
    remove(parameters, IDS.slice(0, 200));
    // Others take the places of half of them. The row of id 0 stays free, and has a 0 where its id was.
    push(parameters, idsFrom(1, 100));
    push(parameters, IDS, 2);
    const plain = [
      (to: Parameters) => push(to, IDS),
      (to: Parameters) => void remove(to, IDS.slice(0, 200)),
      (to: Parameters) => push(to, idsFrom(1, 100)),
      (to: Parameters) => push(to, IDS, 2),
    ];
    expect(everything(parameters, 1)).toEqual(without(...plain));
    expect(parameters.stats().rows).toBe(COUNT + 100);
  });

  test('give their memory to new rows of the shard', () => {
    const parameters = make();
    push(parameters, IDS);
    const { bytes } = parameters.stats();
    for (let round = 1; round <= 50; round++) {
      remove(parameters, idsFrom(round - 1));
      push(parameters, idsFrom(round));
    }
    expect(parameters.stats()).toMatchObject({ rows: COUNT, bytes });
  });

  test('leave the index, and do not come back when it grows', () => {
    const heap = new KernelHeap();
    const byteLength = workspaceBytes(0, 1);
    const options = {
      seed: 1,
      shards: 1,
      hasSeen: true,
      workspace: { address: heap.allocate(byteLength), byteLength },
    };
    const spec = { name: 'rows', width: 0, initializer: { type: 'zeros' } } as const;
    const rows = new SparseTable(heap, spec, { ...options, optimizer: createCounter(heap) });
    rows.addShard(0);
    const put = (ids: readonly bigint[], seen: number): void => {
      const all = { ids: BigUint64Array.from(ids), values: new Float32Array(), slots: {} };
      const filled = (value: number): Uint32Array => new Uint32Array(ids.length).fill(value);
      rows.import(0, { ...all, steps: filled(1), seen: filled(seen) });
    };
    const indexed = (): bigint[] => {
      const entries = indexEntries(heap.bytes.buffer, heap.kernels.partAt(rows.address, 0));
      return entries.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1));
    };
    put(IDS.slice(0, 200), 1);
    put(IDS.slice(200), 2);
    expect(rows.removeUnseen(0, 1)).toBe(200);
    expect(indexed()).toEqual(IDS.slice(200));
    rows.remove(0, BigUint64Array.from(IDS.slice(200, 300)));
    expect(indexed()).toEqual(IDS.slice(300));
    const many = idsFrom(100_000, 20 * COUNT);
    put(many.slice(0, 100), 3);
    rows.remove(0, BigUint64Array.from(many.slice(0, 100)));
    put(many, 3);
    expect(indexed()).toEqual([...IDS.slice(300), ...many]);
  });

  test('of another shard are refused, and nothing is removed', () => {
    const parameters = makeParameters({ spec: SPEC, shards: 2 });
    const mine = IDS.filter((id) => shardOfRow('rows', id, 2) === 0);
    const ids = BigUint64Array.from(IDS);
    parameters.push([rowsPart(0, IDS, new Float32Array(COUNT * WIDTH))], [], applyAll(2), { seen: new Uint32Array(2) });
    expect(() => parameters.removeIds(0, 0, ids)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
    expect(parameters.stats().rows).toBe(COUNT);
    expect(parameters.removeIds(0, 0, BigUint64Array.from(mine))).toBe(mine.length);
  });
});

describe('seen', () => {
  test('is that of the last push, is copied out and put in, and orders ids as unsigned numbers', () => {
    const parameters = make();
    push(parameters, [3n, HIGHEST, 5n], 10);
    push(parameters, [3n, 7n], 20);
    const rows = parameters.exportRows(0, 0);
    expect([...rows.ids]).toEqual([3n, 5n, 7n, HIGHEST]);
    expect([...rows.seen!]).toEqual([20, 10, 20, 10]);
    const copy = make();
    copy.importRows(0, 0, rows);
    expect(copy.exportRows(0, 0)).toEqual(rows);
    expect(parameters.removeUnseen(0, 0, 19)).toEqual({ rows: 2, candidates: 0 });
    expect([...parameters.exportRows(0, 0).ids]).toEqual([3n, 7n]);
    const { seen: _, ...older } = rows;
    const from = make();
    from.importRows(0, 0, older);
    expect([...from.exportRows(0, 0).seen!]).toEqual([0, 0, 0, 0]);
  });

  test('is required of a push, and of no table that has none', () => {
    const parameters = make();
    const part = rowsPart(0, [1n], [1, 1]);
    expect(() => parameters.push([part], [], applyAll(1))).toThrow(/seen/);
    expect(parameters.stats().rows).toBe(0);
    const plain = makeParameters({ spec: table(WIDTH), shards: 1 });
    plain.push([part], [], applyAll(1));
    expect(plain.exportRows(0, 0).seen).toBeUndefined();
    expect(() => plain.removeIds(0, 0, BigUint64Array.of(1n))).toThrow(/removed/);
    const rows = { ...plain.exportRows(0, 0), seen: Uint32Array.of(1) };
    expect(() => plain.importRows(0, 0, rows)).toThrowError(expect.objectContaining({ code: 'BadMessage' }));
  });
});
