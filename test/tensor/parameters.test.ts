import { describe, expect, it } from 'vitest';
import { blockShards, denseBlockFloats } from '../../src/tensor/blocks.ts';
import { SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import type { DenseSpec, ParameterSpec } from '../../src/tensor/spec.ts';
import {
  applyAll,
  bits,
  blocksPart,
  bytesOf,
  everything,
  HIGHEST,
  idBytes,
  makeParameters,
  NORMAL,
  pullRows,
  pullWhole,
  rowsPart,
  table,
} from './fixture.ts';
import { initialValue } from './reference.ts';

const code = (name: string): unknown => expect.objectContaining({ code: name });
const EDGE_IDS = [0n, 1n, 2n ** 32n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 63n + 1n, HIGHEST];

describe('as a parameter server', () => {
  const dense = (name: string, shape: number[]): DenseSpec => ({
    name,
    shape,
    initializer: { type: 'constant', value: 1 },
  });

  it('two parameters have their first values; one push is value − lr × gradient', () => {
    const spec = { dense: [dense('a', [2, 3]), dense('b', [5])], sparse: [] };
    const parameters = makeParameters({ spec });
    expect([...pullWhole(parameters, 0, spec.dense[0]!)]).toEqual([1, 1, 1, 1, 1, 1]);
    parameters.push([], [blocksPart(1, [0], Float32Array.of(1, 2, 3, 4, -5))], applyAll());
    expect([...pullWhole(parameters, 0, spec.dense[0]!)]).toEqual([1, 1, 1, 1, 1, 1]);
    expect([...pullWhole(parameters, 1, spec.dense[1]!)]).toEqual([0.5, 0, -0.5, -1, 3.5]);
  });

  it('rows too', () => {
    const parameters = makeParameters({ spec: table(3) });
    const before = pullRows(parameters, 0, EDGE_IDS, 3);
    const gradients = Float32Array.from(before, (_, i) => i / 4);
    parameters.push([rowsPart(0, EDGE_IDS, gradients)], [], applyAll());
    const expected = before.map((value, i) => Math.fround(value - Math.fround(0.5 * gradients[i]!)));
    expect(bits(pullRows(parameters, 0, EDGE_IDS, 3))).toEqual(bits(expected));
    expect(parameters.stats().rows).toBe(EDGE_IDS.length);
  });

  it('holds 1,000 parameters and answers blocks in the order asked', () => {
    const spec = { dense: Array.from({ length: 1000 }, (_, i) => dense(`p${i}`, [1 + (i % 7)])), sparse: [] };
    const parameters = makeParameters({ spec });
    const parts = spec.dense.map(({ shape }, i) => blocksPart(i, [0], new Float32Array(shape[0]!).fill(i)));
    parameters.push([], parts, applyAll());
    spec.dense.forEach((one, i) => {
      expect([...pullWhole(parameters, i, one)]).toEqual(new Array(one.shape[0]).fill(1 - 0.5 * i));
    });
    const large = dense('large', [2 * denseBlockFloats + 10]);
    const two = makeParameters({ spec: { dense: [large], sparse: [] } });
    two.push(
      [],
      [
        blocksPart(
          0,
          [1, 2],
          Float32Array.from({ length: denseBlockFloats + 10 }, (_, i) => (i < denseBlockFloats ? 2 : 4)),
        ),
      ],
      applyAll(),
    );
    const values = new Float32Array(2 * denseBlockFloats + 10);
    two.pullDense(0, Uint32Array.of(2, 0, 1), bytesOf(values));
    expect([values[0], values[10], values[10 + denseBlockFloats]]).toEqual([-1, 1, 0]);
  });
});

describe('pulling', () => {
  it('computes absent rows and leaves no trace of it', () => {
    const parameters = makeParameters({ spec: table(4) });
    const before = JSON.stringify(parameters.stats());
    const ids = Array.from({ length: 1000 }, (_, i) => BigInt(i) * 977n);
    pullRows(parameters, 0, ids, 4);
    expect(JSON.stringify({ ...parameters.stats(), reservedBytes: 0 })).toBe(
      JSON.stringify({ ...JSON.parse(before), reservedBytes: 0 }),
    );
    for (const shard of parameters.shards()) expect(parameters.exportRows(shard, 0).ids.length).toBe(0);
  });

  it('gives first values that do not depend on who came first', () => {
    const ids = Array.from({ length: 200 }, (_, i) => BigInt.asUintN(64, BigInt(i) * 0x9e37_79b9_7f4a_7c15n));
    const ordered = makeParameters({ spec: table(5) });
    const reversed = makeParameters({ spec: table(5), shards: 3 });
    for (const id of ids) ordered.push([rowsPart(0, [id], [0, 0, 0, 0, 0])], [], applyAll());
    const backwards = [...ids].reverse();
    reversed.push([rowsPart(0, backwards, new Float32Array(1000))], [], applyAll(3));
    const values = pullRows(ordered, 0, ids, 5);
    expect(bits(values)).toEqual(bits(pullRows(reversed, 0, ids, 5)));
    expect(bits(values)).toEqual(bits(pullRows(makeParameters({ spec: table(5) }), 0, ids, 5)));
    const place = { name: 'rows', seed: 1, shape: [1, 5] };
    const plain = ids.flatMap((id) =>
      [0, 1, 2, 3, 4].map((element) => initialValue(NORMAL, { ...place, id, element })),
    );
    expect(bits(values)).toEqual(bits(plain));
  });

  it('gives an id that is asked for twice twice', () => {
    const parameters = makeParameters({ spec: table(1) });
    const [a, b, c] = pullRows(parameters, 0, [7n, 8n, 7n], 1);
    expect(a).toBe(c);
    expect(a).not.toBe(b);
  });

  it('writes into kernel memory and into any other, from either', () => {
    const parameters = makeParameters({ spec: table(3) });
    parameters.push([rowsPart(0, [5n], [1, 2, 3])], [], applyAll());
    const expected = bits(pullRows(parameters, 0, EDGE_IDS, 3));
    const ids = parameters.stage(8 * EDGE_IDS.length);
    ids.bytes().set(idBytes(EDGE_IDS));
    const room = parameters.stage(12 * EDGE_IDS.length);
    parameters.pullSparse(0, ids.bytes(), room.bytes());
    expect(bits(new Float32Array(room.bytes().slice().buffer))).toEqual(expected);
    room.bytes().fill(0);
    parameters.pullSparse(0, idBytes(EDGE_IDS), room.bytes());
    expect(bits(new Float32Array(room.bytes().slice().buffer))).toEqual(expected);
    const outside = new Float32Array(3 * EDGE_IDS.length);
    parameters.pullSparse(0, ids.bytes(), bytesOf(outside));
    expect(bits(outside)).toEqual(expected);
  });

  it('refuses rows and blocks of shards that are elsewhere, and wrong sizes', () => {
    const spec: ParameterSpec = {
      dense: [{ name: 'w', shape: [denseBlockFloats * 9], initializer: { type: 'zeros' } }],
      sparse: [{ name: 'rows', width: 2, initializer: NORMAL }],
    };
    const shard = shardOfRow('rows', 5n, 8);
    const present = [0, 1, 2, 3, 4, 5, 6, 7].filter((one) => one !== shard);
    const parameters = makeParameters({ spec, present });
    expect(() => pullRows(parameters, 0, [5n], 2)).toThrowError(
      expect.objectContaining({ code: 'WrongShard', details: { name: 'rows', shard } }),
    );
    expect(() => pullRows(parameters, 0, [...Array.from({ length: 100 }, (_, i) => BigInt(i))], 2)).toThrowError(
      code('WrongShard'),
    );
    const shards = [...blockShards(spec.dense[0]!, 8)];
    const elsewhere = makeParameters({
      spec,
      present: shards.slice(1).filter((one, i, all) => one !== shards[0] && all.indexOf(one) === i),
    });
    expect(() => elsewhere.pullDense(0, Uint32Array.of(0), new Uint8Array(4 * denseBlockFloats))).toThrowError(
      code('WrongShard'),
    );
    expect(() => parameters.pullSparse(0, new Uint8Array(9), new Uint8Array(8))).toThrowError(code('BadMessage'));
    expect(() => parameters.pullSparse(0, new Uint8Array(8), new Uint8Array(12))).toThrowError(code('BadMessage'));
    expect(() => parameters.pullSparse(1, new Uint8Array(8), new Uint8Array(8))).toThrowError(code('UnknownParameter'));
    expect(() => parameters.pullDense(1, Uint32Array.of(), new Uint8Array(0))).toThrowError(code('UnknownParameter'));
    expect(() => parameters.pullDense(0, Uint32Array.of(9), new Uint8Array(4))).toThrowError(code('BadMessage'));
    const all = makeParameters({ spec });
    expect(() => all.pullDense(0, Uint32Array.of(0), new Uint8Array(4))).toThrowError(code('BadMessage'));
    expect(() => all.pullDense(0, Uint32Array.of(), new Uint8Array(4))).toThrowError(code('BadMessage'));
  });
});

describe('shards', () => {
  it('come and go without a trace', () => {
    const parameters = makeParameters({ spec: table(4), present: [] });
    expect(parameters.shards()).toEqual([]);
    const empty = parameters.stats().bytes;
    for (let round = 0; round < 5; round++) {
      for (const shard of [6, 2, 4, 0, 1, 3, 5, 7]) parameters.addShard(shard);
      expect([parameters.shards(), parameters.hasShard(4)]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], true]);
      const ids = Array.from({ length: 3000 }, (_, i) => BigInt(i));
      parameters.push([rowsPart(0, ids, new Float32Array(12_000).fill(1))], [], applyAll());
      expect(parameters.stats().rows).toBe(3000);
      const counted = parameters.shards().map((shard) => parameters.stats(shard));
      expect(counted.reduce((sum, { rows }) => sum + rows, 0)).toBe(3000);
      expect(counted.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(parameters.stats().bytes);
      for (let shard = 0; shard < 8; shard++) parameters.dropShard(shard);
      expect(parameters.stats().bytes).toBe(empty);
    }
    const { reservedBytes } = parameters.stats();
    for (let round = 0; round < 5; round++) {
      for (let shard = 0; shard < 8; shard++) parameters.addShard(shard);
      for (let shard = 0; shard < 8; shard++) parameters.dropShard(shard);
    }
    expect(parameters.stats().reservedBytes).toBe(reservedBytes);
  });

  it('are added and dropped once: anything else is a bug', () => {
    const parameters = makeParameters({ spec: table(1), present: [3] });
    expect(() => parameters.addShard(3)).toThrow();
    expect(() => parameters.addShard(8)).toThrow();
    expect(() => parameters.dropShard(4)).toThrow();
  });
});

describe('growth', () => {
  it('keeps 200,000 rows in one shard and in many, under 110 bytes each', () => {
    for (const shards of [1, 64]) {
      const parameters = makeParameters({ spec: table(16), shards });
      const COUNT = 200_000;
      const ids = BigUint64Array.from({ length: COUNT }, (_, i) =>
        BigInt.asUintN(64, BigInt(i) * 0x9e37_79b9_7f4a_7c15n),
      );
      const gradients = new Float32Array(COUNT * 16).fill(2);
      const before = new Float32Array(COUNT * 16);
      parameters.pullSparse(0, bytesOf(ids), bytesOf(before));
      for (let from = 0; from < COUNT; from += 7919) {
        const to = Math.min(COUNT, from + 7919);
        const part = {
          table: 0,
          ids: bytesOf(ids.subarray(from, to)),
          gradients: bytesOf(gradients.subarray(16 * from, 16 * to)),
        };
        parameters.push([part], [], applyAll(shards));
      }
      const after = new Float32Array(COUNT * 16);
      parameters.pullSparse(0, bytesOf(ids), bytesOf(after));
      expect(after.every((value, i) => value === Math.fround(before[i]! - 1))).toBe(true);
      const { rows, bytes } = parameters.stats();
      expect(rows).toBe(COUNT);
      expect(bytes / rows).toBeLessThan(110);
    }
  });

  it('is not stopped by ids made to collide in the low bits', () => {
    const parameters = makeParameters({ spec: table(1), shards: 1 });
    const ids = Array.from({ length: 5000 }, (_, i) => BigInt(i) << 40n);
    parameters.push([rowsPart(0, ids, new Float32Array(5000))], [], applyAll(1));
    expect([...parameters.exportRows(0, 0).ids]).toEqual(ids);
  });
});

describe('the specification', () => {
  const refused = (options: Parameters<typeof makeParameters>[0]): void =>
    expect(() => makeParameters(options)).toThrowError(code('JobInvalid'));

  it('is refused when the kernels could not hold to it', () => {
    const one = (initializer: DenseSpec['initializer'], shape = [1]): ParameterSpec => ({
      dense: [{ name: 'w', shape, initializer }],
      sparse: [],
    });
    refused({ spec: { dense: [], sparse: [{ name: 'a', width: 0, initializer: NORMAL }] } });
    refused({ spec: { dense: [], sparse: [{ name: 'a', width: 65_537, initializer: NORMAL }] } });
    refused({ spec: { dense: [], sparse: [{ name: '', width: 1, initializer: NORMAL }] } });
    refused({ spec: { dense: [], sparse: [{ name: 'é'.repeat(65), width: 1, initializer: NORMAL }] } });
    refused({ spec: { dense: one(NORMAL).dense, sparse: [{ name: 'w', width: 1, initializer: NORMAL }] } });
    refused({ spec: one(NORMAL, [0]) });
    refused({ spec: one(NORMAL, [65_536, 65_536]) });
    refused({ spec: one({ type: 'uniform', low: 1, high: 0 }) });
    refused({ spec: one({ type: 'constant', value: 1e39 }) });
    refused({ spec: one({ type: 'normal', mean: 0, stddev: -1 }) });
    const spec = table(1);
    refused({ spec, optimizer: { type: 'sgd', learningRate: Number.NaN, l2: 0 } });
    refused({ spec, optimizer: { type: 'adagrad', learningRate: 1, initialAccumulator: 0, epsilon: 1e-60, l2: 0 } });
    refused({ spec, optimizer: { type: 'momentum', learningRate: 1, momentum: 1, l2: 0 } });
    refused({ spec, optimizer: { type: 'ftrl', alpha: 0, beta: 1, lambda1: 0, lambda2: 0 } });
    refused({ spec, optimizer: { type: 'adam', learningRate: 1, beta1: 0.9, beta2: 1, epsilon: 1e-8, l2: 0 } });
  });

  it('may have no sparse table and no dense parameter', () => {
    const parameters = makeParameters({ spec: { dense: [], sparse: [] } });
    parameters.push([], [], applyAll().fill(SHARD_ACTION.skip));
    expect([everything(parameters, 0), parameters.stats().bytes]).toEqual([expect.anything(), 0]);
  });
});
