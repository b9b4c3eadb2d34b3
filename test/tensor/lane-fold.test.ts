/** The gradient of a round depends on its lanes in their order and on nothing else (docs/modes.md). */

import { describe, expect, it } from 'vitest';
import type { LaneGradients, Parameters, RoundGradients } from '../../src/tensor/parameters.ts';
import * as fc from '../properties.ts';
import { applyAll, everything, makeParameters, pullRows, rowsPart, table } from './fixture.ts';
import { anyRound, hexOf, idsOf, laneFor, type PlainLane, ROUND_SPEC, sumOf } from './rounds.ts';

const SHARDS = 7;
const parameters = makeParameters({ spec: ROUND_SPEC, shards: SHARDS, present: [] });
const f = Math.fround;

/** Gradients by name: of each block, and of each row. */
type Named = Map<string, string>;

/** One float at a time, from the words of lane-fold.ts. */
function plainFold(lanes: readonly PlainLane[]): Named {
  const filled = lanes.filter(({ records }) => records > 0);
  const total = filled.reduce((sum, { records }) => sum + records, 0);
  const folded: Named = new Map();
  const mean = (name: string, rows: readonly (readonly [number, Float32Array])[]): void => {
    const sum = new Float32Array(rows[0]![1].length);
    for (const [records, row] of rows) {
      row.forEach((value, i) => {
        sum[i] = f(sum[i]! + records * value);
      });
    }
    folded.set(name, hexOf(sum.map((value) => f(value / total))));
  };
  if (total === 0) return folded;
  for (const i of ROUND_SPEC.dense.keys()) {
    mean(
      `dense ${i}`,
      filled.map(({ records, dense }) => [records, dense[i]!]),
    );
  }
  ROUND_SPEC.sparse.forEach((_, i) => {
    for (const id of new Set(filled.flatMap(({ sparse }) => [...sparse[i]!.keys()]))) {
      const rows = filled.flatMap(({ records, sparse }): (readonly [number, Float32Array])[] =>
        sparse[i]!.has(id) ? [[records, sparse[i]!.get(id)!]] : [],
      );
      mean(`row ${i} ${id}`, rows);
    }
  });
  return folded;
}

const floats = (bytes: Uint8Array): Float32Array => new Float32Array(new Uint8Array(bytes).buffer);

/** The same names; blocks are put together to whole parameters. */
function named(parts: readonly RoundGradients[]): Named {
  const all: Named = new Map();
  ROUND_SPEC.dense.forEach((_, parameter) => {
    const blocks = new Map<number, Float32Array>();
    for (const { dense } of parts) {
      for (const part of dense.filter((one) => one.parameter === parameter)) {
        const values = floats(part.gradients);
        let at = 0;
        for (const block of part.blocks) {
          blocks.set(block, values.subarray(at, at + 16_384));
          at += 16_384;
        }
      }
    }
    const whole = [...blocks.keys()].sort((a, b) => a - b).flatMap((block) => [...blocks.get(block)!]);
    if (whole.length > 0) all.set(`dense ${parameter}`, hexOf(Float32Array.from(whole)));
  });
  for (const { sparse } of parts) {
    for (const part of sparse) {
      const { width } = ROUND_SPEC.sparse[part.table]!;
      const values = floats(part.gradients);
      idsOf(part.ids).forEach((id, i) => {
        expect(all.has(`row ${part.table} ${id}`)).toBe(false);
        all.set(`row ${part.table} ${id}`, hexOf(values.slice(i * width, (i + 1) * width)));
      });
    }
  }
  return all;
}

const fold = (lanes: readonly LaneGradients[]): RoundGradients => sumOf(parameters, lanes);

describe('the gradient of a round', () => {
  it('has the bits of the plain form', () => {
    fc.assert(
      fc.property(anyRound(ROUND_SPEC), (lanes) => {
        expect(named([fold(lanes.map((lane) => laneFor(ROUND_SPEC, lane)))])).toEqual(plainFold(lanes));
      }),
      { numRuns: 50 },
    );
  });

  it('has the same bits however rows and blocks are spread over pservers', () => {
    const anyOwners = fc.array(fc.nat(2), { minLength: SHARDS, maxLength: SHARDS });
    fc.assert(
      fc.property(anyRound(ROUND_SPEC), anyOwners, (lanes, owners) => {
        const parts = [0, 1, 2].map((pserver) => {
          const held = [...owners.keys()].filter((shard) => owners[shard] === pserver);
          return fold(lanes.map((lane) => laneFor(ROUND_SPEC, lane, { shards: SHARDS, held })));
        });
        expect(named(parts)).toEqual(plainFold(lanes));
      }),
      { numRuns: 50 },
    );
  });

  it('weighs lanes by their good records; empty ones weigh nothing', () => {
    const narrow = makeParameters({ spec: table(1) });
    const lane = (records: number, gradient: number): LaneGradients => {
      return { records, dense: [], sparse: records === 0 ? [] : [rowsPart(0, [5n], [gradient])] };
    };
    const [part] = sumOf(narrow, [lane(1, 4), lane(0, 0), lane(3, 8)]).sparse;
    expect([...floats(part!.gradients)]).toEqual([7]);
    // Rows that a lane does not touch count as zeros of its records.
    const other: LaneGradients = { records: 2, dense: [], sparse: [rowsPart(0, [6n], [3])] };
    const both = sumOf(narrow, [lane(2, 4), other]).sparse[0]!;
    expect([idsOf(both.ids), [...floats(both.gradients)]]).toEqual([
      [5n, 6n],
      [2, 1.5],
    ]);
  });

  it('of lanes without records is nothing', () => {
    const empty = { records: 0, dense: [], sparse: [] };
    expect(fold([empty, empty])).toEqual({ dense: [], sparse: [] });
    expect(fold([])).toEqual({ dense: [], sparse: [] });
  });

  it('is summed in lane order, so another order has other bits', () => {
    const narrow = makeParameters({ spec: table(1) });
    const lanes = [2 ** 24, 1, 1, -(2 ** 24)].map((gradient) => {
      return { records: 1, dense: [], sparse: [rowsPart(0, [1n], [gradient])] };
    });
    const sum = (order: readonly number[]): number =>
      floats(
        sumOf(
          narrow,
          order.map((lane) => lanes[lane]!),
        ).sparse[0]!.gradients,
      )[0]!;
    expect(sum([0, 1, 2, 3])).toBe(0);
    expect(sum([1, 2, 0, 3])).toBe(0.5);
  });
});

describe('a round that is pushed', () => {
  const RATES = { learningRate: 0.1, l2: 0, epsilon: 1e-7, initialAccumulator: 0.1 };
  const COUNT = 700;
  const spec = table(2);
  const make = (recallsPulls: boolean): Parameters =>
    makeParameters({ spec, recallsPulls, optimizer: { type: 'adagrad', ...RATES } });
  const idsFrom = (first: number): bigint[] => Array.from({ length: COUNT }, (_, i) => BigInt(first + 3 * i));
  const laneOf = (first: number, records = 2): LaneGradients => {
    const gradients = Array.from({ length: 2 * COUNT }, (_, i) => first + i / 8);
    return { records, dense: [], sparse: [rowsPart(0, idsFrom(first), gradients)] };
  };
  /** Lanes that begin at these ids, of which they share most. Returns the values before. */
  const round = (to: Parameters, firsts: readonly number[], before = (): void => {}): Float32Array =>
    to.withSum(
      firsts.map((first) => laneOf(first)),
      (sum) => {
        before();
        const { sparse, dense } = sum.parts();
        return floats(to.pushKeeping(sparse, dense, applyAll()).sparse[0]!);
      },
    );
  const FIRSTS = [0, 30, 300];
  const all = [...new Set(FIRSTS.flatMap(idsFrom))];
  const pull = (from: Parameters, firsts = FIRSTS): void => {
    for (const first of firsts) pullRows(from, 0, idsFrom(first), 2);
  };

  it('changes what it changes when no lane was pulled, and gives the values before', () => {
    const [parameters, plain] = [make(true), make(false)];
    // The first round makes rows; of the third, one lane was pulled before some of its rows were made, one was not.
    const pulled = [FIRSTS, FIRSTS, [0, 900], FIRSTS];
    const pushed = [FIRSTS, FIRSTS, [0, 30, 900], FIRSTS];
    pushed.forEach((firsts, at) => {
      pull(parameters, pulled[at]);
      if (at === 2) for (const one of [parameters, plain]) one.push([rowsPart(0, [2997n], [1, 1])], [], applyAll());
      const ids = [...new Set(firsts.flatMap(idsFrom))];
      const before = [...pullRows(plain, 0, ids, 2)];
      expect([...round(parameters, firsts)]).toEqual(before);
      expect([...round(plain, firsts)]).toEqual(before);
    });
    expect(everything(parameters, 1)).toEqual(everything(plain, 1));
  });

  it('looks for rows again when a shard was dropped', () => {
    const [parameters, plain] = [make(true), make(false)];
    for (const one of [parameters, plain]) {
      const dropped = (): void => {
        one.dropShard(3);
        one.addShard(3);
      };
      round(one, FIRSTS);
      pull(one);
      round(one, FIRSTS, dropped);
    }
    expect(everything(parameters, 1)).toEqual(everything(plain, 1));
  });

  it('is refused with nothing changed when a shard is missing', () => {
    const parameters = make(true);
    round(parameters, FIRSTS);
    parameters.dropShard(3);
    const before = everything(parameters, 1);
    expect(() => round(parameters, FIRSTS)).toThrow('shard 3');
    expect(everything(parameters, 1)).toEqual(before);
  });

  it('leaves no kernel memory taken, applied or thrown away', () => {
    const parameters = make(true);
    const turn = (): void => {
      pull(parameters);
      round(parameters, FIRSTS);
      const fail = (): void => {
        throw new Error('thrown away');
      };
      expect(() => round(parameters, FIRSTS, fail)).toThrow('thrown away');
    };
    for (let i = 0; i < 3; i++) turn();
    const { reservedBytes } = parameters.stats();
    for (let i = 0; i < 60; i++) turn();
    expect(parameters.stats()).toMatchObject({ rows: all.length, reservedBytes });
  });
});
