/** Rules of models of layers: what they draw, their statistics, and where gradients go. */
import type { Mutation } from './mutation.ts';

export const MODELS: readonly Mutation[] = [
  {
    rule: 'running statistics have their own optimizer',
    file: 'src/tensor/optimizer.ts',
    find: 'optimizer: rate === undefined ? optimizer : ofStatistic(rate)',
    replace: 'optimizer',
    tests: ['test/sync/reference-loop.test.ts'],
  },
  {
    rule: 'a running statistic moves from where it is, not from where a stale push has seen it',
    file: 'src/tensor/optimizer.ts',
    find: 'learningRate: rate, l2: 1 }',
    replace: 'learningRate: rate, l2: 0 }',
    tests: ['test/tensor/mixed-optimizers.test.ts'],
  },
  {
    rule: 'gradients that are added to those of two layers have a place each',
    file: 'src/model/layers/network.ts',
    find: '        spare += bytesOfRows(records, layers[input]!.layer.width);\n',
    replace: '',
    tests: ['test/model/layers'],
  },
  {
    rule: 'an evaluation in slices finds the bytes of each',
    file: 'src/model/layers/batch-addresses.ts',
    find: 'numbers.width * (areBytes ? 1 : 4)',
    replace: 'numbers.width * 4',
    tests: ['test/model/layers'],
  },
  {
    rule: 'clipping leaves running statistics alone',
    file: 'src/roles/trainer/compute/gradient-check.ts',
    find: 'this.#dense[at]?.statisticRate === undefined',
    replace: 'this.#dense[at]?.statisticRate !== null',
    tests: ['test/roles/trainer/compute/gradient-check.test.ts'],
  },
  {
    rule: 'a trainer knows which parameters of its model are running statistics',
    file: 'src/roles/trainer/compute/gradient-check.ts',
    find: 'log, parameters.dense, onBad)',
    replace: 'log, parameters.dense.slice(0, 0), onBad)',
    tests: ['test/roles/trainer/compute/gradient-check.test.ts'],
  },
  {
    rule: 'checkpoints say which parameters are running statistics',
    file: 'src/checkpoint/file/spec-schema.ts',
    find: 'statisticRate: finite.exactOptional(),',
    replace: '',
    tests: ['test/checkpoint/round-trip.test.ts'],
  },
  {
    rule: 'a model draws with the seed of its job',
    file: 'src/cluster/job/job-model.ts',
    find: 'seed: job.training.seed,',
    replace: 'seed: 0 * job.training.seed,',
    tests: ['test/cluster/job/job-model.test.ts'],
  },
  {
    rule: 'each mini-batch of a task draws for itself',
    file: 'src/roles/trainer/tasks/train-task.ts',
    find: '{ pass, task, batch: first + number }',
    replace: '{ pass, task, batch: first }',
    tests: ['test/roles/trainer/tasks'],
  },
  {
    rule: 'each mini-batch of a lane draws for itself',
    file: 'src/roles/trainer/rounds/lane-batches.ts',
    find: '{ pass, task, batch: push }',
    replace: '{ pass, task, batch: 0 }',
    tests: ['test/roles/trainer/rounds'],
  },
  {
    rule: 'a layer that several read has the gradients of all of them',
    file: 'src/model/layers/graph.ts',
    find: "? 'added' : 'first'",
    replace: "? 'first' : 'first'",
    tests: ['test/model/layers'],
  },
  {
    rule: 'a part of a model that learns nothing is passed over backwards, and only such a part',
    file: 'src/model/layers/graph.ts',
    find: 'learns.push(dense.length > 0 || table !== undefined || inputs[number]!.some((input) => learns[input]!));',
    replace: 'learns.push(dense.length > 0 || table !== undefined);',
    tests: ['test/model/layers'],
  },
];
