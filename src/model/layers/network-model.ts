/** A model that is a list of layers. */
import { PaddletError } from '../../base/errors.ts';
import { ArrayMemory } from '../../tensor/array-memory.ts';
import type { Model } from '../model.ts';
import { createGraph, type Graph } from './graph.ts';
import { Network } from './network.ts';
import type { LayerFacts, LayerSpec } from './specs.ts';

export interface NetworkModelOptions {
  readonly type: string;
  readonly task: Model['task'];
  readonly layers: readonly LayerSpec[];
}

export interface NetworkFacts extends Omit<LayerFacts, 'outputs'> {
  readonly classes: number;
}

/** Throws `JobInvalid` when the layers do not fit together, `DataInvalid` when the data does not suit them. */
export function createNetworkModel({ type, task, layers }: NetworkModelOptions, facts: NetworkFacts): Model {
  const { classes, inputWidth, columns } = facts;
  const outputs = task === 'multiclass' ? classes : 1;
  const graph = createGraph(layers, { ...facts, outputs });
  if (task === 'multiclass' && classes < 2) {
    throw new PaddletError('DataInvalid', `expected two or more classes for ${type}, got ${classes}`);
  }
  if (graph.numbers !== undefined && columns === undefined && inputWidth < 1) {
    throw new PaddletError('DataInvalid', `${type} needs inputs, but the data has none`);
  }
  const memory = new ArrayMemory();
  const network = new Network({ graph, memory, task, outputs });
  return {
    type,
    ...inputOf(graph, columns !== undefined),
    task,
    parameters: graph.parameters,
    lookups: graph.lookups,
    memory,
    step: (batch, values, place) => network.step(batch, values, place),
    evaluate: (batch, values) => network.evaluate(batch, values),
    ...(task === 'multiclass' && {
      classProbabilities: (batch, values) => network.classProbabilities(batch, values),
    }),
  };
}

/** Without columns data has numbers or features, not both. */
function inputOf({ columns, numbers }: Graph, hasColumns: boolean): Pick<Model, 'input' | 'reads'> {
  if (!hasColumns) {
    return { input: columns.length === 0 ? 'dense' : numbers === undefined ? 'sparse' : 'columns' };
  }
  const sparse = columns.map((names) => names ?? []);
  return { input: 'columns', reads: { sparse, numbers: numbers?.columns ?? [] } };
}
