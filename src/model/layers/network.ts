/**
 * A model of layers: one after the other forwards, and backwards in the opposite order. A batch is evaluated in slices:
 * the outputs of a record depend on no other one. What a layer hands to another, outputs and gradients, has no tiny
 * floats (`../../tensor/kernels/assembly/tiny.ts`).
 */
import { assert } from '../../base/assert.ts';
import type { ArrayMemory } from '../../tensor/array-memory.ts';
import { elementCount } from '../../tensor/blocks.ts';
import type { KernelHeap } from '../../tensor/kernel-heap.ts';
import { bytesOf, floatsAt, KeptMemory, sumsAt } from '../kernel-step.ts';
import type { Batch, BatchPlace, Model, PulledValues, StepResult } from '../model.ts';
import { type Arena, NetworkMemory } from './arena.ts';
import { type BatchAddresses, batchAddresses, batchArrays } from './batch-addresses.ts';
import type { Graph, PlacedLayer } from './graph.ts';
import { bytesOfRows, type LayerRun } from './layer.ts';

/** Records of an evaluation that are in the layers at a time. */
const SLICE_RECORDS = 256;

interface NetworkOptions {
  readonly graph: Graph;
  readonly memory: ArrayMemory;
  readonly task: Model['task'];
  /** Width of the last layer. */
  readonly outputs: number;
}

/** Addresses of gradients. */
interface Gradients {
  readonly dense: readonly number[];
  readonly sparse: readonly number[];
}

interface Call {
  readonly heap: KernelHeap;
  readonly arena: Arena;
  readonly at: BatchAddresses;
}

export class Network implements Pick<Model, 'step' | 'evaluate' | 'classProbabilities'> {
  readonly #options: NetworkOptions;
  readonly #memory: NetworkMemory;
  /** Outputs of the last layer, and what is made of them. */
  readonly #ends: KeptMemory;

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.#memory = new NetworkMemory(options.graph, options.memory);
    this.#ends = new KeptMemory(options.memory);
  }

  step(batch: Batch, values: PulledValues, place?: BatchPlace): StepResult {
    const { memory, graph, outputs } = this.#options;
    this.#checkLabels(batch);
    const { dense: parameters, sparse: tables } = graph.parameters;
    const dense = parameters.map((parameter) => memory.floats(elementCount(parameter)));
    const sparse = tables.map(({ width }, table) => memory.floats(width * batch.sparse[graph.lookups[table]!]!.count));
    const { records } = batch;
    // Batch normalization needs a mean, which no records do not have.
    if (records === 0) for (const gradient of [...dense, ...sparse]) gradient.fill(0);
    const gradients = { dense: dense.map(addressOf), sparse: sparse.map(addressOf) };
    const arena = this.#memory.arenaFor(records);
    const powers = this.#ends.take(8 * outputs);
    const metrics = this.#call(batch, values, arena, (call) => {
      const last = graph.layers.length - 1;
      const training = { isTraining: true, place };
      if (records > 0) this.#forward(call, training, 0, records);
      const slopes = arena.gradients[last]!;
      this.#loss(call, records, { logits: arena.outputs[last]!, powers, slopes, scores: 0 });
      if (records > 0) this.#backward(call, training, records, gradients);
      return sumsAt(call.heap, arena.sums, records).metrics;
    });
    return { dense, sparse, metrics };
  }

  evaluate(batch: Batch, values: PulledValues): ReturnType<Model['evaluate']> {
    this.#checkLabels(batch);
    const { records } = batch;
    return this.#predict(batch, values, records, (call, logits, scores, powers) => {
      this.#loss(call, records, { logits, powers, slopes: 0, scores });
      const { metrics } = sumsAt(call.heap, call.arena.sums, records);
      return { metrics, scores: floatsAt(call.heap, scores, records).slice() };
    });
  }

  classProbabilities(batch: Batch, values: PulledValues): Float32Array {
    const { records } = batch;
    const { outputs } = this.#options;
    return this.#predict(batch, values, records * outputs, ({ heap }, logits, to, powers) => {
      heap.kernels.probabilitiesOfClasses(records, outputs, logits, powers, to);
      return floatsAt(heap, to, records * outputs).slice();
    });
  }

  /** `made`: floats that are made of the outputs. */
  #predict<T>(
    batch: Batch,
    values: PulledValues,
    made: number,
    use: (call: Call, logits: number, made: number, powers: number) => T,
  ): T {
    const { graph, outputs } = this.#options;
    const { records } = batch;
    const arena = this.#memory.arenaFor(Math.min(records, SLICE_RECORDS));
    const powers = this.#ends.take(8 * outputs + 4 * (records * outputs + made));
    const logits = powers + 8 * outputs;
    return this.#call(batch, values, arena, (call) => {
      for (let from = 0; from < records; from += SLICE_RECORDS) {
        const some = Math.min(SLICE_RECORDS, records - from);
        this.#forward(call, { isTraining: false, place: undefined }, from, some);
        const [count, to] = [some * outputs, logits + 4 * from * outputs];
        call.heap.kernels.copyColumns(1, count, arena.outputs[graph.layers.length - 1]!, count, to, count);
      }
      return use(call, logits, logits + 4 * records * outputs, powers);
    });
  }

  #call<T>(batch: Batch, values: PulledValues, arena: Arena, use: (call: Call) => T): T {
    const { heap } = this.#ends;
    const arrays = batchArrays(batch, values, this.#options.graph);
    return heap.withInputs(arrays.map(bytesOf), (addresses) =>
      use({ heap, arena, at: batchAddresses(batch, values, this.#options.graph, heap.kernels, addresses) }),
    );
  }

  #forward({ heap, arena, at }: Call, training: Pick<LayerRun, 'isTraining' | 'place'>, from: number, records: number) {
    this.#options.graph.layers.forEach((placed, number) => {
      const run = runOf(placed, number, arena, at, { ...training, from, records });
      placed.layer.forward(heap.kernels, run);
      heap.kernels.dropTiny(records * placed.layer.width, run.output);
    });
  }

  #backward(
    { heap, arena, at }: Call,
    training: Pick<LayerRun, 'isTraining' | 'place'>,
    records: number,
    to: Gradients,
  ) {
    const { kernels } = heap;
    const { layers } = this.#options.graph;
    for (let number = layers.length - 1; number >= 0; number--) {
      const placed = layers[number]!;
      const { layer, inputs, gradientsTo, firstDense, table, learns } = placed;
      if (!learns) continue;
      let spare = arena.spare;
      const inputGradients = inputs.map((input, i) => {
        const how = gradientsTo[i]!;
        if (how !== 'added') return how === 'none' ? 0 : arena.gradients[input]!;
        const own = spare;
        spare += bytesOfRows(records, layers[input]!.layer.width);
        return own;
      });
      layer.backward!(kernels, {
        ...runOf(placed, number, arena, at, { ...training, from: 0, records }),
        gradient: arena.gradients[number]!,
        inputGradients,
        parameterGradients: layer.dense.map((_, i) => to.dense[firstDense + i]!),
        tableGradient: table === undefined ? 0 : to.sparse[table]!,
      });
      inputs.forEach((input, i) => {
        const count = records * layers[input]!.layer.width;
        const gradient = arena.gradients[input]!;
        if (gradientsTo[i] === 'added') kernels.addValues(count, gradient, inputGradients[i]!);
        if (gradientsTo[i] !== 'none') kernels.dropTiny(count, gradient);
      });
    }
  }

  #loss(
    { heap: { kernels }, arena, at }: Call,
    records: number,
    { logits, powers, slopes, scores }: Readonly<Record<'logits' | 'powers' | 'slopes' | 'scores', number>>,
  ): void {
    const { task, outputs } = this.#options;
    const { labels, weights } = at;
    if (task === 'multiclass') {
      kernels.lossOfClasses(records, outputs, logits, labels, weights, powers, slopes, scores, arena.sums);
    } else {
      kernels.lossOfOutputs(records, logits, labels, weights, task === 'binary', slopes, scores, arena.sums);
    }
  }

  #checkLabels({ records, labels }: Batch): void {
    assert(labels.length === records, 'a label a record');
    const { task, outputs } = this.#options;
    if (task !== 'multiclass') return;
    for (const label of labels) assert(Number.isInteger(label) && label >= 0 && label < outputs, 'a known class');
  }
}

const addressOf = ({ byteOffset }: Float32Array): number => byteOffset;

function runOf(
  { layer, inputs, firstDense, table }: PlacedLayer,
  number: number,
  arena: Arena,
  at: BatchAddresses,
  { from, ...how }: Pick<LayerRun, 'records' | 'isTraining' | 'place'> & { readonly from: number },
): LayerRun {
  return {
    ...how,
    data: at.dataFrom(from, table),
    inputs: inputs.map((input) => arena.outputs[input]!),
    output: arena.outputs[number]!,
    parameters: layer.dense.map((_, i) => at.dense[firstDense + i]!),
    kept: arena.kept[number]!,
    scratch: arena.scratch,
  };
}
