/**
 * Multinomial logistic regression on dense inputs: p = softmax(x W + b), with W [inputs, classes] and b [classes].
 * L2 is the optimizer's. The arithmetic is that of src/tensor/kernels/assembly/softmax-model.ts.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { ArrayMemory } from '../tensor/array-memory.ts';
import { denseInput } from './batch-shape.ts';
import { bytesOf, floatsAt, KeptMemory, SUMS_BYTES, sumsAt } from './kernel-step.ts';
import type { Batch, MetricSums, Model, PulledValues, StepResult } from './model.ts';

interface Shape {
  readonly inputWidth: number;
  readonly classes: number;
}

/** Throws `DataInvalid` when the data has no inputs or fewer than two classes. */
export function createSoftmax(shape: Shape): Model {
  const { inputWidth, classes } = shape;
  if (inputWidth < 1 || classes < 2) {
    throw new PaddletError(
      'DataInvalid',
      `softmax needs inputs and two or more classes, but the data has ${inputWidth} inputs and ${classes} classes`,
    );
  }
  const memory = new ArrayMemory();
  const steps = new SoftmaxSteps(shape, memory);
  return {
    type: 'softmax',
    input: 'dense',
    task: 'multiclass',
    parameters: parametersOf(shape),
    lookups: [],
    memory,
    step: (batch, values) => steps.step(batch, values),
    evaluate: (batch, values) => steps.evaluate(batch, values),
    classProbabilities: (batch, values) => steps.classProbabilities(batch, values),
  };
}

const parametersOf = ({ inputWidth, classes }: Shape): Model['parameters'] => ({
  dense: [
    { name: 'W', shape: [inputWidth, classes], initializer: { type: 'zeros' } },
    { name: 'b', shape: [classes], initializer: { type: 'zeros' } },
  ],
  sparse: [],
});

/** Addresses of what is wanted, 0 for what is not. */
interface Wanted {
  readonly gradientW: number;
  readonly gradientB: number;
  readonly scores: number;
}

class SoftmaxSteps implements Pick<Model, 'step' | 'evaluate' | 'classProbabilities'> {
  readonly #shape: Shape;
  readonly #memory: ArrayMemory;
  readonly #kept: KeptMemory;
  readonly #scratch: KeptMemory;

  constructor(shape: Shape, memory: ArrayMemory) {
    this.#shape = shape;
    this.#memory = memory;
    this.#kept = new KeptMemory(memory);
    this.#scratch = new KeptMemory(memory);
  }

  step(batch: Batch, values: PulledValues): StepResult {
    checkBatch(batch, values, this.#shape);
    const { inputWidth, classes } = this.#shape;
    const [w, b] = [this.#memory.floats(inputWidth * classes), this.#memory.floats(classes)];
    const wanted = { gradientW: w.byteOffset, gradientB: b.byteOffset, scores: 0 };
    const metrics = this.#run(batch, values, this.#kept.take(SUMS_BYTES), wanted);
    return { dense: [w, b], sparse: [], metrics };
  }

  evaluate(batch: Batch, values: PulledValues): ReturnType<Model['evaluate']> {
    checkBatch(batch, values, this.#shape);
    const sums = this.#kept.take(SUMS_BYTES + 4 * batch.records);
    const scores = sums + SUMS_BYTES;
    const metrics = this.#run(batch, values, sums, { gradientW: 0, gradientB: 0, scores });
    return { metrics, scores: floatsAt(this.#kept.heap, scores, batch.records).slice() };
  }

  classProbabilities(batch: Batch, values: PulledValues): Float32Array {
    checkShapes(batch, values, this.#shape);
    const { inputWidth, classes } = this.#shape;
    const { records } = batch;
    const to = this.#kept.take(4 * records * classes);
    const { heap } = this.#kept;
    const scratch = this.#scratch.take(heap.kernels.softmaxScratch(0, inputWidth, classes));
    const { values: numbers } = batch.dense[0]!;
    return heap.withInputs([numbers, ...values.dense].map(bytesOf), ([inputs, w, b]) => {
      heap.kernels.predictSoftmax(
        records,
        inputs!,
        numbers.BYTES_PER_ELEMENT,
        inputWidth,
        classes,
        w!,
        b!,
        to,
        scratch,
      );
      return floatsAt(heap, to, records * classes).slice();
    });
  }

  #run(batch: Batch, values: PulledValues, sums: number, { gradientW, gradientB, scores }: Wanted): MetricSums {
    const { heap } = this.#kept;
    const { kernels } = heap;
    const { inputWidth, classes } = this.#shape;
    const scratch = this.#scratch.take(kernels.softmaxScratch(0, inputWidth, classes));
    const { values: numbers } = batch.dense[0]!;
    const arrays = [numbers, batch.labels, ...values.dense];
    if (batch.weights !== undefined) arrays.push(batch.weights);
    return heap.withInputs(arrays.map(bytesOf), ([inputs, labels, w, b, weights = 0]) => {
      kernels.stepSoftmax(
        batch.records,
        inputs!,
        numbers.BYTES_PER_ELEMENT,
        labels!,
        weights,
        inputWidth,
        classes,
        w!,
        b!,
        gradientW,
        gradientB,
        scores,
        sums,
        scratch,
      );
      return sumsAt(heap, sums, batch.records).metrics;
    });
  }
}

function checkShapes(batch: Batch, values: PulledValues, { inputWidth, classes }: Shape): void {
  denseInput(batch, inputWidth);
  const [weights, bias] = values.dense;
  assert(weights?.length === inputWidth * classes && bias?.length === classes, 'W and b have their shapes');
}

function checkBatch(batch: Batch, values: PulledValues, shape: Shape): void {
  checkShapes(batch, values, shape);
  const { classes } = shape;
  for (const label of batch.labels) assert(Number.isInteger(label) && label >= 0 && label < classes, 'a known class');
}
