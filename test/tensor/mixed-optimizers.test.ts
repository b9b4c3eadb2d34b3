/** Parameters of one memory, each with an optimizer of its own, against the plain scalar form. */

import { expect, it } from 'vitest';
import { type OptimizerSpec, optimizerLayout } from '../../src/tensor/optimizer.ts';
import type { Parameters } from '../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import * as fc from '../properties.ts';
import { applyAll, blocksPart, everything, makeParameters, rowsPart } from './fixture.ts';
import { anyFloats, anyOptimizer, OPTIMIZERS } from './optimizers.ts';
import { freshState, type State, updateReference } from './reference.ts';

const WIDTH = 6;
const LENGTH = 9;
const SPEC: ParameterSpec = {
  dense: [
    { name: 'a', shape: [LENGTH], initializer: { type: 'constant', value: 0.5 } },
    { name: 'b', shape: [LENGTH], initializer: { type: 'constant', value: 0.5 } },
  ],
  sparse: [
    { name: 'x', width: WIDTH, initializer: { type: 'constant', value: -0.25 } },
    { name: 'y', width: WIDTH, initializer: { type: 'constant', value: -0.25 } },
  ],
};

type Four = readonly [OptimizerSpec, OptimizerSpec, OptimizerSpec, OptimizerSpec];

const start = ([a, b, x, y]: Four): Parameters =>
  makeParameters({
    spec: SPEC,
    tables: { x: { optimizer: x }, y: { optimizer: y } },
    blocks: { a: { optimizer: a }, b: { optimizer: b } },
    shards: 1,
  });

/** One push that touches all four parameters, with the same gradients for both of a kind. */
function push(parameters: Parameters, gradient: Float32Array, rateScale = 1): void {
  const rows = gradient.subarray(0, WIDTH);
  const dense = gradient.subarray(0, LENGTH);
  parameters.push(
    [rowsPart(0, [7n], rows), rowsPart(1, [7n], rows)],
    [blocksPart(0, [0], dense), blocksPart(1, [0], dense)],
    applyAll(1),
    { rateScale },
  );
}

const statesOf = (
  parameters: Parameters,
): { values: Float32Array; slots: Float32Array[]; step: number | undefined }[] => [
  ...parameters.exportBlocks(0).map(({ values, slots, step }) => ({ values, slots: Object.values(slots), step })),
  ...[0, 1].map((table) => {
    const { values, slots, steps } = parameters.exportRows(0, table);
    return { values, slots: Object.values(slots), step: steps?.[0] };
  }),
];

const plainStates = (optimizers: Four): State[] =>
  optimizers.map((optimizer, at) =>
    freshState(optimizer, new Float32Array(at < 2 ? LENGTH : WIDTH).fill(at < 2 ? 0.5 : -0.25)),
  );

it('has the bits of the plain form for any four optimizers', () => {
  const four = fc.tuple(anyOptimizer, anyOptimizer, anyOptimizer, anyOptimizer);
  fc.assert(
    fc.property(four, fc.array(anyFloats(LENGTH), { minLength: 1, maxLength: 6 }), (optimizers, gradients) => {
      const parameters = start(optimizers);
      const plain = plainStates(optimizers);
      for (const gradient of gradients) {
        push(parameters, gradient);
        plain.forEach((state, at) => {
          updateReference(optimizers[at]!, state, gradient.slice(0, state.values.length));
        });
      }
      statesOf(parameters).forEach(({ values, slots, step }, at) => {
        const wanted = plain[at]!;
        expect(values).toEqual(wanted.values);
        expect(slots).toEqual(wanted.slots);
        expect(step).toBe(optimizerLayout(optimizers[at]!).steps ? wanted.step : undefined);
      });
    }),
  );
});

it('what one parameter has for an optimizer changes nothing in the others', () => {
  const gradient = Float32Array.from({ length: LENGTH }, (_, at) => (at - 4) / 3);
  const states = OPTIMIZERS.map((other) => {
    const parameters = start([OPTIMIZERS[3]!, other, other, OPTIMIZERS[4]!]);
    for (let i = 0; i < 3; i++) push(parameters, gradient);
    const [a, , , y] = statesOf(parameters);
    return { a, y };
  });
  for (const state of states) expect(state).toEqual(states[0]);
});

it('a statistic moves a share of the way from its present value, not from the one that a trainer had pulled', () => {
  const [mean] = SPEC.dense.map((one) => ({ ...one, statisticRate: 0.25 }));
  const parameters = makeParameters({ spec: { dense: [mean!], sparse: [] }, shards: 1 });
  const first = parameters.exportBlocks(0)[0]!.values[0]!;
  const statistics = [3, -5];
  for (const statistic of statistics)
    parameters.push([], [blocksPart(0, [0], new Float32Array(LENGTH).fill(-statistic))], applyAll(1));
  const moved = statistics.reduce((value, statistic) => value + 0.25 * (statistic - value), first);
  expect(parameters.exportBlocks(0)[0]!.values[0]).toBeCloseTo(moved, 6);
});

it('the rate of a statistic is not scaled', () => {
  const [mean, learned] = SPEC.dense.map((one, at) => (at === 0 ? { ...one, statisticRate: 0.1 } : one));
  const spec: ParameterSpec = { dense: [mean!, learned!], sparse: [] };
  const gradient = new Float32Array(LENGTH).fill(0.5);
  const parts = [blocksPart(0, [0], gradient), blocksPart(1, [0], gradient)];
  const valuesAt = (rateScale: number): Float32Array[] => {
    const [pushed, kept] = [makeParameters({ spec, shards: 1 }), makeParameters({ spec, shards: 1 })];
    pushed.push([], parts, applyAll(1), { rateScale });
    kept.pushKeeping([], parts, applyAll(1), { rateScale });
    expect(everything(kept, 0)).toEqual(everything(pushed, 0));
    return pushed.exportBlocks(0).map(({ values }) => values);
  };
  const [full, half] = [valuesAt(1), valuesAt(0.5)];
  expect(half[0]).toEqual(full[0]);
  expect([full[1]![0], half[1]![0]]).toEqual([0.25, 0.375]);
});

it('a scaled rate holds for all parameters of the push, and for that push alone', () => {
  const gradient = new Float32Array(LENGTH).fill(0.5);
  const slower = <T extends OptimizerSpec>(one: T): T =>
    'learningRate' in one ? { ...one, learningRate: one.learningRate / 4 } : one;
  const optimizers = [OPTIMIZERS[0]!, OPTIMIZERS[2]!, OPTIMIZERS[3]!, OPTIMIZERS[5]!] as const;
  const [scaled, smaller] = [start(optimizers), start(optimizers.map(slower) as unknown as Four)];
  push(scaled, gradient, 1 / 4);
  push(smaller, gradient);
  expect(everything(scaled, 2)).toEqual(everything(smaller, 2));
  const full = start(optimizers);
  for (const table of [0, 1]) full.importRows(0, table, smaller.exportRows(0, table));
  for (const block of smaller.exportBlocks(0)) full.importBlock(0, block);
  for (const parameters of [scaled, full]) push(parameters, gradient);
  expect(everything(scaled, 2)).toEqual(everything(full, 2));
});
