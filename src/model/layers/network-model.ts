/** A model that is a list of layers. */
import { ArrayMemory } from '../../tensor/array-memory.ts';
import type { Model } from '../model.ts';
import { createGraph } from './graph.ts';
import { Network } from './network.ts';
import type { LayerFacts, LayerSpec } from './specs.ts';

export interface NetworkModelOptions {
  readonly type: string;
  readonly task: Model['task'];
  readonly layers: readonly LayerSpec[];
  /** Of the last layer: 1, or one for each class. */
  readonly outputs: number;
}

/** Throws `JobInvalid` when the layers do not fit together. */
export function createNetworkModel({ type, task, layers, outputs }: NetworkModelOptions, facts: LayerFacts): Model {
  const graph = createGraph(layers, facts, outputs);
  const memory = new ArrayMemory();
  const network = new Network({ graph, memory, task, outputs });
  return {
    type,
    input: graph.parameters.sparse.length > 0 ? 'sparse' : 'dense',
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
