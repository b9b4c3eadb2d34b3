/** The benchmarks' training without a wire does what a trainer and a pserver do. */
import { expect, it } from 'vitest';
import { LocalTraining } from '../../../scripts/bench/local-training.ts';
import { type Batch, idsOf, type Model } from '../../../src/model/model.ts';
import { blockCount, elementCount } from '../../../src/tensor/blocks.ts';
import { type OptimizerSpec, type TrainedSpec, trainedSpec } from '../../../src/tensor/optimizer.ts';
import { SHARD_ACTION } from '../../../src/tensor/parameters.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import { batchOf, CASES, networkOf, SEED } from '../../model/layers/networks.ts';

const ADAM: OptimizerSpec = { type: 'adam', learningRate: 0.05, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };
const ADAGRAD: OptimizerSpec = { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-8, l2: 0 };
const SHARDS = 4;
const STEPS = 6;

const bytesOf = (array: Float32Array): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Losses with pulls from and pushes to the memory of a pserver. */
function pushedLosses(model: Model, spec: TrainedSpec, batches: readonly Batch[]): number[] {
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  const blocks = spec.dense.map((one) => Uint32Array.from({ length: blockCount(one) }, (_, block) => block));
  const actions = new Uint8Array(SHARDS).fill(SHARD_ACTION.apply);
  return batches.map((batch) => {
    const ids = idsOf(model, batch).map(({ ids, count }) => ids.slice(0, 8 * count));
    const dense = spec.dense.map((one) => new Float32Array(elementCount(one)));
    const sparse = spec.sparse.map(({ width }, table) => new Float32Array((width * ids[table]!.length) / 8));
    dense.forEach((into, at) => {
      parameters.pullDense(at, blocks[at]!, bytesOf(into));
    });
    sparse.forEach((into, table) => {
      parameters.pullSparse(table, ids[table]!, bytesOf(into));
    });
    const step = model.step(batch, { dense, sparse });
    parameters.push(
      step.sparse.map((rows, table) => ({ table, ids: ids[table]!, gradients: bytesOf(rows) })),
      step.dense.map((floats, parameter) => ({ parameter, blocks: blocks[parameter]!, gradients: bytesOf(floats) })),
      actions,
    );
    return step.metrics.loss;
  });
}

it.each(['wide, pairs and deep, with two tables', 'batchNorm'])('losses of all steps are the same bits: %s', (name) => {
  const one = CASES.find(({ what }) => what === name)!;
  const model = networkOf(one);
  const { parameters } = model;
  const tables = Object.fromEntries(parameters.sparse.map(({ name }) => [name, { optimizer: ADAGRAD }]));
  const spec = trainedSpec(parameters, { optimizer: ADAM, tables });
  const batches = Array.from({ length: STEPS }, (_, seed) => batchOf(one, model, { records: 9, seed }));
  const training = new LocalTraining(model, spec, SEED);
  const losses = batches.map((batch) => training.step(batch).loss);
  expect(losses).toEqual(pushedLosses(networkOf(one), spec, batches));
});
