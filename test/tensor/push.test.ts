/** A push is applied whole or not at all. */

import { describe, expect, it } from 'vitest';
import { blockShards, denseBlockFloats } from '../../src/tensor/blocks.ts';
import { SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import * as fc from '../properties.ts';
import {
  applyAll,
  bits,
  blocksPart,
  bytesOf,
  everything,
  makeParameters,
  NORMAL,
  pullRows,
  rowsPart,
  table,
} from './fixture.ts';

const spec: ParameterSpec = {
  dense: [{ name: 'w', shape: [denseBlockFloats * 3 + 5], initializer: NORMAL }],
  sparse: [
    { name: 'a', width: 3, initializer: NORMAL },
    { name: 'b', width: 1, initializer: NORMAL },
  ],
};
const adam = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 } as const;
const ids = Array.from({ length: 500 }, (_, i) => BigInt(i) * 3n);
const blocks = [0, 1, 2, 3];

/** Rows and blocks that were updated before. */
function used(options: { memoryLimitBytes?: number } = {}) {
  const parameters = makeParameters({ spec, optimizer: adam, ...options });
  const rows = rowsPart(0, ids.slice(0, 250), new Float32Array(750).fill(1));
  parameters.push([rows], [blocksPart(0, [0, 2], new Float32Array(2 * denseBlockFloats).fill(1))], applyAll());
  return parameters;
}

const floatsOf = (array: Uint8Array): Float32Array =>
  new Float32Array(array.buffer, array.byteOffset, array.length / 4);

function wholePush() {
  return {
    a: rowsPart(0, ids, new Float32Array(1500).fill(0.5)),
    b: rowsPart(1, ids, new Float32Array(500).fill(0.5)),
    w: blocksPart(0, blocks, new Float32Array(denseBlockFloats * 3 + 5).fill(0.5)),
  };
}

type WholePush = ReturnType<typeof wholePush>;

/**
 * That the push is refused with this error and that nothing at all has changed; then that the good push still works.
 */
function expectRefused(change: (push: WholePush, actions: Uint8Array) => void, error: Record<string, unknown>): void {
  const parameters = used();
  const before = everything(parameters, 2);
  const push = wholePush();
  const actions = applyAll();
  change(push, actions);
  expect(() => parameters.push([push.a, push.b], [push.w], actions)).toThrowError(expect.objectContaining(error));
  expect(everything(parameters, 2)).toEqual(before);
  const good = wholePush();
  parameters.push([good.a, good.b], [good.w], applyAll());
  const clean = used();
  clean.push([good.a, good.b], [good.w], applyAll());
  expect(everything(parameters, 2)).toEqual(everything(clean, 2));
}

describe('a push changes nothing when', () => {
  it.each([Number.NaN, Infinity, -Infinity])('its last gradient is %d', (bad) => {
    expectRefused(
      ({ w }) => {
        floatsOf(w.gradients)[denseBlockFloats * 3 + 4] = bad;
      },
      { code: 'BadGradient', details: { name: 'w', float: denseBlockFloats * 3 + 4 } },
    );
    expectRefused(
      ({ b }) => {
        floatsOf(b.gradients)[499] = bad;
      },
      { code: 'BadGradient', details: { name: 'b', id: '1497', column: 0 } },
    );
    expectRefused(
      ({ a }) => {
        floatsOf(a.gradients)[7] = bad;
      },
      { code: 'BadGradient', details: { name: 'a', id: '6', column: 1 } },
    );
  });

  it('its last id is of a shard that takes no update', () => {
    const shard = shardOfRow('b', ids[499]!, 8);
    expectRefused(
      (push, actions) => {
        actions[shard] = SHARD_ACTION.absent;
        push.a = rowsPart(0, [], []);
        push.b = rowsPart(
          1,
          ids.filter((id) => id === ids[499] || shardOfRow('b', id, 8) !== shard),
          new Float32Array(500 - ids.filter((id) => id !== ids[499] && shardOfRow('b', id, 8) === shard).length),
        );
        push.w = blocksPart(0, [], new Float32Array(0));
      },
      { code: 'WrongShard', details: { name: 'b', shard } },
    );
  });

  it('one of its blocks is of a shard that takes no update', () => {
    const shard = blockShards(spec.dense[0]!, 8)[3]!;
    expectRefused(
      (push, actions) => {
        actions[shard] = SHARD_ACTION.absent;
        push.a = rowsPart(0, [], []);
        push.b = rowsPart(1, [], []);
      },
      { code: 'WrongShard' },
    );
  });

  it('its shard is said to apply and is not here', () => {
    const shard = shardOfRow('a', 3n, 8);
    const parameters = makeParameters({ spec, optimizer: adam });
    parameters.dropShard(shard);
    expect(() => parameters.push([rowsPart(0, [3n], [1, 1, 1])], [], applyAll())).toThrowError(
      expect.objectContaining({ code: 'WrongShard', details: { name: 'a', shard } }),
    );
  });

  it('an id is repeated: one of a row that exists, one of a row that does not, one that is skipped', () => {
    const twice = (list: readonly bigint[], id: bigint) => [...list.slice(0, 499), id];
    for (const id of [ids[3]!, ids[400]!]) {
      const message = `a: id ${id} is repeated`;
      expectRefused(
        (push) => {
          push.a = rowsPart(0, twice(ids, id), new Float32Array(1500));
        },
        { code: 'BadMessage', message },
      );
    }
    const shard = shardOfRow('b', ids[5]!, 8);
    expectRefused(
      (push, actions) => {
        actions[shard] = SHARD_ACTION.skip;
        push.b = rowsPart(1, twice(ids, ids[5]!), new Float32Array(500));
      },
      { code: 'BadMessage' },
    );
  });

  it('a table or a parameter comes in two parts', () => {
    const parameters = used();
    const before = everything(parameters, 2);
    const { b, w } = wholePush();
    const one = (ids: readonly bigint[]) => rowsPart(0, ids, new Float32Array(3 * ids.length));
    const refused = (message: string) => expect.objectContaining({ code: 'BadMessage', message });
    expect(() => parameters.push([one([1n]), b, one([2n])], [], applyAll())).toThrowError(
      refused('a comes in two parts of one push'),
    );
    expect(() => parameters.check([], [w, blocksPart(0, [], new Float32Array(0))], applyAll())).toThrowError(
      refused('w comes in two parts of one push'),
    );
    expect(everything(parameters, 2)).toEqual(before);
  });

  it('sizes do not fit', () => {
    const badMessage = { code: 'BadMessage' };
    expectRefused((push) => {
      push.b = { ...push.b, gradients: push.b.gradients.subarray(4) };
    }, badMessage);
    expectRefused((push) => {
      push.b = { ...push.b, ids: push.b.ids.subarray(1) };
    }, badMessage);
    expectRefused((push) => {
      push.w = { ...push.w, gradients: push.w.gradients.subarray(4) };
    }, badMessage);
    expectRefused((push) => {
      push.w = { ...push.w, blocks: Uint32Array.of(0, 2, 1, 3) };
    }, badMessage);
    expectRefused((push) => {
      push.w = { ...push.w, blocks: Uint32Array.of(0, 1, 2, 2) };
    }, badMessage);
    expectRefused((push) => {
      push.w = { ...push.w, blocks: Uint32Array.of(0, 1, 2, 4) };
    }, badMessage);
    expectRefused(
      (push) => {
        push.b = { ...push.b, table: 2 };
      },
      { code: 'UnknownParameter' },
    );
  });

  it('there is no room for its rows', () => {
    const LIMIT = 2 * 1024 * 1024;
    const parameters = makeParameters({ spec: table(16), optimizer: adam, memoryLimitBytes: LIMIT });
    const push = (from: number): void => {
      const some = Array.from({ length: 1000 }, (_, i) => BigInt(from + i));
      parameters.push([rowsPart(0, some, new Float32Array(16_000).fill(1))], [], applyAll());
    };
    let pushed = 0;
    let refusal: unknown;
    while (refusal === undefined && pushed < 100) {
      const before = everything(parameters, 1);
      try {
        push(1000 * pushed);
        pushed += 1;
      } catch (error) {
        refusal = error;
        expect(everything(parameters, 1)).toEqual(before);
      }
    }
    expect(refusal).toEqual(expect.objectContaining({ code: 'OutOfMemory' }));
    expect(pushed).toBeGreaterThan(2);
    expect(parameters.stats().reservedBytes).toBeLessThanOrEqual(LIMIT);
    // What is there still learns.
    const learned = pullRows(parameters, 0, [5n], 16);
    parameters.push([rowsPart(0, [5n], new Float32Array(16).fill(1))], [], applyAll());
    expect(bits(pullRows(parameters, 0, [5n], 16))).not.toEqual(bits(learned));
  });
});

describe('a push', () => {
  it('passes over shards marked skip, in rows and blocks', () => {
    const parameters = used();
    const before = everything(parameters, 2) as { shard: number }[];
    const actions = applyAll();
    actions.fill(SHARD_ACTION.skip, 0, 4);
    const { a, b, w } = wholePush();
    parameters.push([a, b], [w], actions);
    const after = everything(parameters, 2) as { shard: number }[];
    const clean = used();
    clean.push([a, b], [w], applyAll());
    const whole = everything(clean, 2) as { shard: number }[];
    expect(after.slice(0, 4)).toEqual(before.slice(0, 4));
    expect(after.slice(4)).toEqual(whole.slice(4));
    expect(after.slice(4)).not.toEqual(before.slice(4));
  });

  it('passes over shards marked skip that are not here', () => {
    const parameters = used();
    parameters.dropShard(2);
    const actions = applyAll();
    actions[2] = SHARD_ACTION.skip;
    const { a, b, w } = wholePush();
    parameters.push([a, b], [w], actions);
    expect(parameters.hasShard(2)).toBe(false);
  });

  it('creates a row also for a zero gradient', () => {
    const parameters = makeParameters({ spec: table(2) });
    const before = pullRows(parameters, 0, [9n], 2);
    parameters.push([rowsPart(0, [9n], [0, 0])], [], applyAll());
    expect(parameters.stats().rows).toBe(1);
    expect(bits(pullRows(parameters, 0, [9n], 2))).toEqual(bits(before));
  });

  it('gives the same from kernel memory as from any other', () => {
    const { a, b, w } = wholePush();
    const outside = used();
    outside.push([a, b], [w], applyAll());
    const inside = used();
    const stage = (bytes: Uint8Array): (() => Uint8Array) => {
      const staging = inside.stage(bytes.length);
      staging.bytes().set(bytes);
      return () => staging.bytes();
    };
    const [aIds, aGradients, wGradients] = [stage(a.ids), stage(a.gradients), stage(w.gradients)];
    inside.push([{ ...a, ids: aIds(), gradients: aGradients() }, b], [{ ...w, gradients: wGradients() }], applyAll());
    expect(everything(inside, 2)).toEqual(everything(outside, 2));
  });

  it('takes block numbers and gradients from kernel memory that grows under it', () => {
    const { w } = wholePush();
    const outside = makeParameters({ spec, optimizer: adam });
    outside.push([], [w], applyAll());
    const inside = makeParameters({ spec, optimizer: adam });
    const staging = inside.stage(w.blocks.byteLength + w.gradients.length);
    staging.bytes().set(bytesOf(w.blocks));
    staging.bytes().set(w.gradients, w.blocks.byteLength);
    const bytes = staging.bytes();
    const blocksInside = new Uint32Array(bytes.buffer, bytes.byteOffset, w.blocks.length);
    const part = { parameter: 0, blocks: blocksInside, gradients: bytes.subarray(w.blocks.byteLength) };
    // More than memory grows by at a time.
    const count = 3_000_000;
    const ids = bytesOf(Uint32Array.from({ length: 2 * count }, (_, i) => (i % 2 === 0 ? i / 2 : 0)));
    const rows = { table: 1, ids, gradients: new Uint8Array(4 * count) };
    inside.push([rows], [part], applyAll());
    expect(blocksInside.length).toBe(0);
    const dense = (parameters: typeof inside) => parameters.shards().map((shard) => parameters.exportBlocks(shard));
    expect(dense(inside)).toEqual(dense(outside));
  });

  it('takes distinct ids, however many and whatever they are', () => {
    const distinct = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 300 });
    fc.assert(
      fc.property(distinct, fc.nat(), (some, at) => {
        const parameters = makeParameters({ spec: table(1) });
        const part = (list: readonly bigint[]) => rowsPart(0, list, new Float32Array(list.length));
        parameters.push([part(some)], [], applyAll());
        expect(parameters.stats().rows).toBe(some.length);
        if (some.length === 0) return;
        const twice = some[at % some.length]!;
        expect(() => parameters.push([part([...some, twice])], [], applyAll())).toThrowError(
          expect.objectContaining({ code: 'BadMessage', message: expect.stringContaining(`id ${twice} is repeated`) }),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('counts steps of Adam by row and by block', () => {
    const parameters = used();
    const { a, b, w } = wholePush();
    parameters.push([a, b], [w], applyAll());
    const steps = new Map<bigint, number>();
    for (const shard of parameters.shards()) {
      const rows = parameters.exportRows(shard, 0);
      rows.ids.forEach((id, i) => void steps.set(id, rows.steps![i]!));
    }
    expect(ids.map((id) => steps.get(id))).toEqual(ids.map((_, i) => (i < 250 ? 2 : 1)));
    const byBlock = parameters.shards().flatMap((shard) => parameters.exportBlocks(shard));
    byBlock.sort((one, other) => one.block - other.block);
    expect(byBlock.map(({ step }) => step)).toEqual([2, 1, 2, 1]);
  });

  it('takes 100 MB at once, and gives the memory back', () => {
    const COUNT = 1_500_000;
    const parameters = makeParameters({ spec: table(16, { type: 'zeros' }), present: [0, 1, 2, 3, 4, 5, 6, 7] });
    const gradients = parameters.stage(COUNT * 64);
    gradients.bytes().fill(0);
    const one = parameters.stage(8 * COUNT);
    one.bytes().set(bytesOf(Uint32Array.from({ length: 2 * COUNT }, (_, i) => (i % 2 === 0 ? i / 2 : 0))));
    parameters.push([{ table: 0, ids: one.bytes(), gradients: gradients.bytes() }], [], applyAll());
    expect(parameters.stats().rows).toBe(COUNT);
    const sizes = Array.from({ length: 4 }, () => {
      parameters.push([{ table: 0, ids: one.bytes(), gradients: gradients.bytes() }], [], applyAll());
      return parameters.stats().reservedBytes;
    });
    // After the first push, which leaves no free block of exactly the size that its scratch memory had.
    expect(new Set(sizes).size).toBe(1);
    expect(() => parameters.stage(2 ** 32 + 64)).toThrowError(expect.objectContaining({ code: 'OutOfMemory' }));
  });
});
