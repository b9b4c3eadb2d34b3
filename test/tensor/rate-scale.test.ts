/**
 * A push with a scaled learning rate does what one of an optimizer with that rate would; the next push has the full
 * rate again.
 */
import { expect, it } from 'vitest';
import { type OptimizerSpec, trainedSpec } from '../../src/tensor/optimizer.ts';
import type { DensePart, SparsePart } from '../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import { OPTIMIZERS } from './optimizers.ts';

const spec: ParameterSpec = {
  dense: [{ name: 'd', shape: [11], initializer: { type: 'uniform', low: -1, high: 1 } }],
  sparse: [{ name: 's', width: 5, initializer: { type: 'uniform', low: -1, high: 1 } }],
};
const bytes = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
const ids = bytes(BigUint64Array.of(3n, 2n ** 63n));
const APPLY = Uint8Array.of(1);

function parts(push: number): [SparsePart[], DensePart[]] {
  const gradient = (length: number): Uint8Array =>
    bytes(Float32Array.from({ length }, (_, at) => Math.sin(at + 10 * push)));
  return [
    [{ table: 0, ids, gradients: gradient(10) }],
    [{ parameter: 0, blocks: Uint32Array.of(0), gradients: gradient(11) }],
  ];
}

function start(optimizer: OptimizerSpec) {
  const parameters = createParameters({ spec: trainedSpec(spec, { optimizer }), seed: 5, shards: 1 });
  parameters.addShard(0);
  return parameters;
}
const contentOf = (parameters: ReturnType<typeof start>): unknown => [
  parameters.exportRows(0, 0),
  parameters.exportBlocks(0),
];

type Rated = Extract<OptimizerSpec, { learningRate: number }>;
const rated = OPTIMIZERS.filter((one): one is Rated => one.type !== 'ftrl');

it.each(rated.map((one) => [one.type, one] as const))('%s', (_type, optimizer) => {
  const scaled = start(optimizer);
  const smaller = start({ ...optimizer, learningRate: optimizer.learningRate / 4 });
  scaled.push(...parts(0), APPLY, { rateScale: 1 / 4 });
  smaller.push(...parts(0), APPLY);
  expect(contentOf(scaled)).toEqual(contentOf(smaller));

  const full = start(optimizer);
  for (const parameters of [scaled, full]) {
    const [rows, [block]] = contentOf(smaller) as [
      Parameters<typeof full.importRows>[2],
      [Parameters<typeof full.importBlock>[1]],
    ];
    parameters.importRows(0, 0, rows);
    parameters.importBlock(0, block);
    parameters.push(...parts(1), APPLY);
  }
  expect(contentOf(scaled)).toEqual(contentOf(full));
});

it('ftrl takes no other rate', () => {
  const parameters = start({ type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0, lambda2: 0 });
  expect(() => parameters.push(...parts(0), APPLY, { rateScale: 0.5 })).toThrow(/rate/);
});
