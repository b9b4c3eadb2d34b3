import { describe, expect, it } from 'vitest';
import { denseBlockFloats } from '../../src/tensor/blocks.ts';
import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';
import type { Parameters, ShardRows } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import {
  applyAll,
  blocksPart,
  bytesOf,
  everything,
  HIGHEST,
  makeParameters,
  NORMAL,
  pullRows,
  rowsPart,
  SGD,
  table,
} from './fixture.ts';
import { OPTIMIZERS } from './optimizers.ts';

const spec: ParameterSpec = {
  dense: [
    { name: 'w', shape: [denseBlockFloats * 2 + 9], initializer: NORMAL },
    { name: 'bias', shape: [], initializer: { type: 'zeros' } },
  ],
  sparse: [
    { name: 'a', width: 5, initializer: NORMAL },
    { name: 'wide', width: 3000, initializer: { type: 'xavier' } },
  ],
};
const edges = [0n, HIGHEST, 2n ** 63n, 2n ** 63n - 1n, 1n, 2n ** 32n];
const ids = [
  ...edges,
  ...Array.from({ length: 300 }, (_, i) => BigInt.asUintN(64, BigInt(i + 1) * 0x9e37_79b9_7f4a_7c15n)),
];
const wave = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => ((i * 37) % 101) / 50 - 1);

function trained(optimizer: OptimizerSpec, shards: number): Parameters {
  const parameters = makeParameters({ spec, optimizer, shards });
  for (let step = 0; step < 3; step++) {
    const some = ids.slice(step * 40);
    const few = ids.slice(0, 30);
    parameters.push(
      [rowsPart(0, some, wave(5 * some.length)), rowsPart(1, few, wave(3000 * few.length))],
      [blocksPart(0, [0, 2], wave(denseBlockFloats + 9)), blocksPart(1, [0], wave(1))],
      applyAll(shards),
    );
  }
  return parameters;
}

function copyShard(from: Parameters, to: Parameters, shard: number): void {
  for (const block of from.exportBlocks(shard)) to.importBlock(shard, block);
  spec.sparse.forEach((_, index) => {
    to.importRows(shard, index, from.exportRows(shard, index));
  });
}

describe.each(OPTIMIZERS)('$type', (optimizer) => {
  it('goes through export and import byte for byte, and learns on as the original', () => {
    const original = trained(optimizer, 4);
    const copy = makeParameters({ spec, optimizer, shards: 4 });
    for (const shard of original.shards()) copyShard(original, copy, shard);
    expect(everything(copy, 2)).toEqual(everything(original, 2));
    expect(copy.stats().rows).toBe(original.stats().rows);
    for (const one of [original, copy]) {
      one.push(
        [rowsPart(0, ids, wave(5 * ids.length))],
        [blocksPart(0, [1, 2], wave(denseBlockFloats + 9))],
        applyAll(4),
      );
    }
    expect(everything(copy, 2)).toEqual(everything(original, 2));
  });
});

describe('exported rows', () => {
  it('are sorted by unsigned id and complete', () => {
    const parameters = trained(SGD, 4);
    const all: bigint[] = [];
    for (const shard of parameters.shards()) {
      const rows = [...parameters.exportRows(shard, 0).ids];
      expect(rows).toEqual([...rows].sort((a, b) => (a < b ? -1 : 1)));
      expect(rows.every((id) => shardOfRow('a', id, 4) === shard)).toBe(true);
      all.push(...rows);
    }
    expect(new Set(all)).toEqual(new Set(ids));
    expect(all.length).toBe(ids.length);
  });

  it('have the values that a pull gives', () => {
    const parameters = trained(SGD, 1);
    const rows = parameters.exportRows(0, 0);
    expect([...rows.values]).toEqual([...pullRows(parameters, 0, [...rows.ids], 5)]);
  });

  it('are copies: later pushes do not change them', () => {
    const parameters = trained(SGD, 1);
    const [rows, blocks] = [parameters.exportRows(0, 0), parameters.exportBlocks(0)];
    const before = [[...rows.values], [...blocks[0]!.values]];
    parameters.push(
      [rowsPart(0, ids, wave(5 * ids.length))],
      [blocksPart(0, [0], wave(denseBlockFloats))],
      applyAll(1),
    );
    expect([[...rows.values], [...blocks[0]!.values]]).toEqual(before);
  });

  it('number 100,000 in one shard', () => {
    const parameters = makeParameters({ spec: table(2, { type: 'zeros' }), shards: 1 });
    const many = BigUint64Array.from({ length: 100_000 }, (_, i) =>
      BigInt.asUintN(64, BigInt(i) * 0x9e37_79b9_7f4a_7c15n),
    );
    const gradients = Float32Array.from({ length: 200_000 }, (_, i) => i);
    // In several pushes, so that the rows are in several segments.
    for (let from = 0; from < 100_000; from += 10_000) {
      const ids = bytesOf(many.subarray(from, from + 10_000));
      const some = bytesOf(gradients.subarray(2 * from, 2 * from + 20_000));
      parameters.push([{ table: 0, ids, gradients: some }], [], applyAll(1));
    }
    const rows = parameters.exportRows(0, 0);
    expect(rows.ids).toEqual(many.slice().sort());
    const copy = makeParameters({ spec: table(2, { type: 'zeros' }), shards: 1 });
    copy.importRows(0, 0, rows);
    const values = new Float32Array(200_000);
    copy.pullSparse(0, bytesOf(many), bytesOf(values));
    expect(values).toEqual(gradients.map((g) => 0 - 0.5 * g));
  });
});

describe('reading across shards', () => {
  const adam = OPTIMIZERS.find(({ type }) => type === 'adam')!;
  const unsigned = (list: readonly bigint[]): bigint[] => [...list].sort((a, b) => (a < b ? -1 : 1));

  it('gives all ids in order, and any of their rows with their state', () => {
    const many = trained(adam, 7);
    const one = trained(adam, 1);
    const sorted = many.sortedIds(0);
    expect([...sorted]).toEqual(unsigned(ids));
    const page = sorted.subarray(10, 200);
    const rows = many.readRows(0, page);
    const all = one.exportRows(0, 0);
    expect(rows.ids).toEqual(page);
    expect(rows.values).toEqual(all.values.subarray(5 * 10, 5 * 200));
    expect(rows.slots.m).toEqual(all.slots.m!.subarray(5 * 10, 5 * 200));
    expect(rows.steps).toEqual(all.steps!.subarray(10, 200));
    expect([many.readRows(0, page.subarray(0, 0)).ids.length, many.sortedIds(1).length]).toEqual([0, 30]);
    for (const block of [0, 1, 2]) {
      expect(many.readBlock(0, block)).toEqual(
        one.exportBlocks(0).find((each) => each.parameter === 0 && each.block === block),
      );
    }
  });

  it('refuses what is missing, and leaves no trace of the question', () => {
    const parameters = trained(SGD, 4);
    const shard = shardOfRow('a', HIGHEST, 4);
    parameters.dropShard(shard);
    const absent = Array.from({ length: 1000 }, (_, i) => BigInt(i + 10)).filter(
      (id) => shardOfRow('a', id, 4) !== shard,
    );
    expect(() => parameters.readRows(0, BigUint64Array.of(...absent, HIGHEST))).toThrowError(
      expect.objectContaining({ code: 'WrongShard', details: { name: 'a', shard } }),
    );
    expect(() => parameters.readRows(0, BigUint64Array.from(absent))).toThrow();
    const kept = parameters.sortedIds(0);
    for (const other of parameters.shards()) parameters.dropShard(other);
    for (let again = 0; again < 4; again++) parameters.addShard(again);
    const { bytes } = parameters.stats();
    parameters.push([rowsPart(0, [...kept], new Float32Array(5 * kept.length))], [], applyAll(4));
    expect([...parameters.sortedIds(0)]).toEqual([...kept]);
    expect(parameters.stats().bytes).toBeGreaterThan(bytes);
    expect(() => parameters.readBlock(0, 3)).toThrowError(expect.objectContaining({ code: 'BadMessage' }));
  });
});

describe('importing', () => {
  const adam = OPTIMIZERS.find(({ type }) => type === 'adam')!;
  const rowsOf = (shard: number, parameters: Parameters): ShardRows => parameters.exportRows(shard, 0);

  it('replaces rows of the same id and keeps the others', () => {
    const parameters = makeParameters({ spec: table(1, { type: 'zeros' }), shards: 1 });
    parameters.push([rowsPart(0, [1n, 2n], [2, 2])], [], applyAll(1));
    parameters.importRows(0, 0, {
      ids: BigUint64Array.of(2n, 3n),
      values: Float32Array.of(7, 8),
      slots: {},
      steps: undefined,
    });
    expect([...pullRows(parameters, 0, [1n, 2n, 3n], 1)]).toEqual([-1, 7, 8]);
    expect(parameters.stats().rows).toBe(3);
  });

  it('refuses what does not fit, changing nothing', () => {
    const source = trained(adam, 2);
    const target = makeParameters({ spec, optimizer: adam, shards: 2 });
    const before = everything(target, 2);
    const rows = rowsOf(0, source);
    const bad = (code: string, shard: number, wrong: ShardRows): void => {
      expect(() => target.importRows(shard, 0, wrong)).toThrowError(expect.objectContaining({ code }));
      expect(everything(target, 2)).toEqual(before);
    };
    bad('BadMessage', 0, { ...rows, values: rows.values.subarray(1) });
    bad('BadMessage', 0, { ...rows, slots: { m: rows.slots.m! } });
    bad('BadMessage', 0, { ...rows, slots: { ...rows.slots, extra: rows.values } });
    bad('BadMessage', 0, { ...rows, steps: undefined });
    bad('WrongShard', 1, rows);
    const stray = { ...rows, ids: rows.ids.slice() };
    stray.ids[stray.ids.length - 1] = rowsOf(1, source).ids[0]!;
    bad('WrongShard', 0, stray);
    const block = source.exportBlocks(0)[0]!;
    for (const wrong of [
      { ...block, values: block.values.subarray(1) },
      { ...block, step: undefined },
      { ...block, slots: {} },
    ]) {
      expect(() => target.importBlock(0, wrong)).toThrowError(expect.objectContaining({ code: 'BadMessage' }));
    }
    expect(() => target.importBlock(1, block)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
    expect(everything(target, 2)).toEqual(before);
    target.dropShard(0);
    expect(() => target.importRows(0, 0, rows)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
    expect(() => target.importBlock(0, block)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
    expect(() => target.exportRows(0, 0)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
    expect(() => target.exportBlocks(0)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
    expect(() => target.stats(0)).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
  });

  it('refuses more rows than there is room for, changing nothing', () => {
    const source = makeParameters({ spec: table(64), shards: 1 });
    const many = Array.from({ length: 20_000 }, (_, i) => BigInt(i));
    source.push([rowsPart(0, many, new Float32Array(64 * 20_000))], [], applyAll(1));
    const target = makeParameters({ spec: table(64), shards: 1, memoryLimitBytes: 2 * 1024 * 1024 });
    target.push([rowsPart(0, [5n], new Float32Array(64).fill(1))], [], applyAll(1));
    const before = everything(target, 1);
    expect(() => target.importRows(0, 0, source.exportRows(0, 0))).toThrowError(
      expect.objectContaining({ code: 'OutOfMemory' }),
    );
    expect(everything(target, 1)).toEqual(before);
  });
});
