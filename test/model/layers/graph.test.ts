/** Lists of layers that fit together, and what is said of those that do not. */
import { describe, expect, test } from 'vitest';
import type { ModelColumn } from '../../../src/model/layers/columns.ts';
import { createGraph } from '../../../src/model/layers/graph.ts';
import type { LayerSpec } from '../../../src/model/layers/specs.ts';
import { createModel, outlineOf } from '../../../src/model/registry.ts';

const graphOf = (layers: readonly LayerSpec[], outputs = 1, columns?: readonly ModelColumn[]) =>
  createGraph(layers, { inputWidth: 5, seed: 1, outputs, columns });

const COLUMNS: readonly ModelColumn[] = [
  { name: 'a', kind: 'category', floats: 0 },
  { name: 'x', kind: 'number', floats: 2 },
  { name: 'b', kind: 'cross', floats: 0 },
  { name: 'y', kind: 'number', floats: 1 },
];

describe('columns of layers', () => {
  const numbers = (...names: string[]): LayerSpec => ({ type: 'numbers', columns: names });
  const linear = (...names: string[]): LayerSpec => ({ type: 'linear', columns: names });

  test('are those that are named, or all of their kind', () => {
    expect(graphOf([{ type: 'linear' }], 1, COLUMNS).columns).toEqual([['a', 'b']]);
    expect(graphOf([linear('y', 'a')], 1, COLUMNS).columns).toEqual([['y', 'a']]);
    const readBy = (layer: LayerSpec, columns?: readonly ModelColumn[]) =>
      graphOf([layer, { type: 'dense' }], 1, columns).numbers;
    expect(readBy({ type: 'numbers' }, COLUMNS)).toEqual({ width: 3, columns: ['x', 'y'] });
    expect(readBy(numbers('y'), COLUMNS)).toEqual({ width: 1, columns: ['y'] });
    expect(readBy({ type: 'numbers' })).toEqual({ width: 5, columns: undefined });
  });

  test.each<[LayerSpec, readonly ModelColumn[] | undefined, string]>([
    [linear('a'), undefined, 'the layer linear1 names columns, but the data has none'],
    [linear('a', 'c'), COLUMNS, 'the layer linear1 names c, which is not a column that a model reads'],
    [linear('a', 'a'), COLUMNS, 'the layer linear1 names the column a twice'],
    [numbers('a'), COLUMNS, 'the layer numbers1 names a, which is a category, not a number'],
    [{ type: 'numbers' }, COLUMNS.slice(0, 1), 'the layer numbers1 does not have a column to read'],
    [linear(), COLUMNS, 'the layer linear1 does not have a column to read'],
  ])('%j', (layer, columns, message) => {
    expect(() => graphOf([layer], 1, columns)).toThrow(message);
  });
});

describe('a list of layers', () => {
  test.each<[string, readonly LayerSpec[], string]>([
    ['is not empty', [], 'a model has at least one layer'],
    ['begins with data', [{ type: 'dense', units: 1 }], 'the first layer, dense1, does not read the data'],
    [
      'names layers before it',
      [{ type: 'numbers' }, { type: 'dense', units: 1, from: 'tower' }],
      'the layer dense1 reads tower, but no earlier layer has that name',
    ],
    [
      'has no layer behind itself',
      [{ type: 'numbers' }, { type: 'dense', name: 'a', units: 1, from: 'a' }],
      'the layer a reads a, but no earlier layer',
    ],
    [
      'has names once',
      [{ type: 'numbers' }, { type: 'dense', name: 'x', units: 2 }, { type: 'dense', name: 'x', units: 1 }],
      'two layers have the name x',
    ],
    [
      'ends with the outputs',
      [{ type: 'numbers' }],
      'expected the number of outputs of the last layer, numbers1, to be 1, got 5',
    ],
    [
      'has no layer that nothing reads',
      [{ type: 'numbers' }, { type: 'relu' }, { type: 'dense', units: 1, from: 'numbers1' }],
      'no other layer reads the layer relu1',
    ],
    [
      'reads data once',
      [{ type: 'numbers' }, { type: 'linear', from: 'numbers1' }],
      'the layer linear1 reads the data',
    ],
    [
      'reads one layer where one is wanted',
      [{ type: 'numbers' }, { type: 'relu' }, { type: 'dense', units: 1, from: ['numbers1', 'relu1'] }],
      'expected one input of the layer dense1, got 2',
    ],
    [
      'reads a layer once',
      [{ type: 'numbers' }, { type: 'add', from: ['numbers1', 'numbers1'] }],
      'the layer add1 reads the same layer twice',
    ],
    [
      'adds what is as wide',
      [{ type: 'numbers' }, { type: 'dense', units: 1 }, { type: 'add', from: ['numbers1', 'dense1'] }],
      'expected layers of equal width as inputs of add1: numbers1 has 5, dense1 has 1',
    ],
    [
      'reads numbers once',
      [{ type: 'numbers' }, { type: 'numbers' }, { type: 'concat', from: ['numbers1', 'numbers2'] }, { type: 'dense' }],
      'expected at most one layer of type numbers, got 2',
    ],
    [
      'has pairs of vectors',
      [{ type: 'numbers' }, { type: 'fm' }],
      'expected two or more vectors for the layer fm1, but numbers1 has none',
    ],
  ])('%s', (_, layers, message) => {
    expect(() => graphOf(layers)).toThrow(message);
  });

  test('may be as wide as the data says, which is not known before', () => {
    const layers: LayerSpec[] = [
      { type: 'numbers', name: 'x' },
      { type: 'dense', units: 5 },
      { type: 'add', from: ['x', 'dense1'] },
      { type: 'dense', name: 'a', units: 3 },
      { type: 'dense', name: 'b', units: 3, from: 'add1' },
      { type: 'add', name: 'sum', from: ['a', 'b'] },
    ];
    const facts = { inputWidth: 1, seed: 1, outputs: 2 };
    expect(() => createGraph(layers, facts)).toThrow('x has 1, dense1 has 5');
    expect(() => createGraph(layers, { ...facts, isOutline: true })).not.toThrow();
    expect(() => createGraph(layers, { ...facts, inputWidth: 5 })).toThrow('sum, to be 2, got 3');
    const others: LayerSpec[] = [
      ...layers.slice(0, 4),
      { type: 'dense', name: 'b', units: 4, from: 'add1' },
      layers[5]!,
    ];
    expect(() => createGraph(others, { ...facts, isOutline: true })).toThrow('a has 3, b has 4');
  });

  test('learns something', () => {
    expect(() => graphOf([{ type: 'numbers' }, { type: 'relu' }], 5)).toThrow('no layer has parameters to train');
  });

  test('has names of its own, and parameters that are called after them', () => {
    const layers: LayerSpec[] = [
      { type: 'numbers' },
      { type: 'dense', units: 4 },
      { type: 'relu' },
      { type: 'dense', units: 3, bias: false },
      { type: 'layerNorm' },
      { type: 'dense', name: 'output', units: 1 },
    ];
    const { parameters } = graphOf(layers);
    expect(parameters.dense.map(({ name, shape }) => [name, ...shape])).toEqual([
      ['dense1.W', 5, 4],
      ['dense1.b', 4],
      ['dense2.W', 4, 3],
      ['layerNorm1.gain', 3],
      ['layerNorm1.bias', 3],
      ['output.W', 3, 1],
      ['output.b', 1],
    ]);
  });

  test('has one input for tables of the same columns', () => {
    const layers: LayerSpec[] = [
      { type: 'linear', name: 'w' },
      { type: 'embedding', name: 'v', width: 2, columns: ['a', 'b'] },
      { type: 'embedding', name: 'u', width: 2, columns: ['b'] },
      { type: 'concat', from: ['v', 'u'] },
      { type: 'fm' },
      { type: 'add', from: ['w', 'fm1'] },
    ];
    const { lookups, columns } = graphOf(layers, 1, COLUMNS);
    expect(lookups).toEqual([0, 0, 1]);
    expect(columns).toEqual([['a', 'b'], ['b']]);
  });
});

describe('mlp', () => {
  const FACTS = { inputWidth: 7, classes: 3, fields: 0, seed: 1 };

  test('is a tower of hidden layers', () => {
    const { parameters } = createModel({ type: 'mlp', hidden: [4, 2], normalization: 'batch' }, FACTS);
    expect(parameters.dense.map(({ name }) => name)).toEqual([
      ...['hidden1.W', 'hidden1.b', 'hidden1.norm.gain', 'hidden1.norm.bias'],
      ...['hidden1.norm.mean', 'hidden1.norm.variance', 'hidden1.norm.seen'],
      ...['hidden2.W', 'hidden2.b', 'hidden2.norm.gain'],
      ...[
        'hidden2.norm.bias',
        'hidden2.norm.mean',
        'hidden2.norm.variance',
        'hidden2.norm.seen',
        'output.W',
        'output.b',
      ],
    ]);
    expect(parameters.dense.at(-2)).toMatchObject({ shape: [2, 3] });
  });

  test('has one output unless it is of classes', () => {
    const { parameters, task } = createModel({ type: 'mlp', hidden: [], task: 'regression' }, FACTS);
    expect([task, parameters.dense[0]?.shape]).toEqual(['regression', [7, 1]]);
  });

  test('has no choice of an optimizer for its statistics', () => {
    const { blocks } = outlineOf({ type: 'mlp', hidden: [4], normalization: 'batch' });
    expect(blocks).toEqual([
      'hidden1.W',
      'hidden1.b',
      'hidden1.norm.gain',
      'hidden1.norm.bias',
      'output.W',
      'output.b',
    ]);
  });

  test('wants inputs and classes', () => {
    expect(() => createModel({ type: 'mlp' }, { ...FACTS, classes: 1 })).toThrow(
      'expected two or more classes for mlp, got 1',
    );
    expect(() => createModel({ type: 'mlp' }, { ...FACTS, inputWidth: 0 })).toThrow(
      'mlp needs inputs, but the data has none',
    );
  });
});
