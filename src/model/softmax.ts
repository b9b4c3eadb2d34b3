/**
 * Multinomial logistic regression on dense inputs: p = softmax(x W + b), with W [inputs, classes] and b [classes].
 * L2 is the optimizer's.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { exp, log } from '../tensor/math.ts';
import { denseBatch, meanGradient } from './batch-shape.ts';
import { clippedLogLoss } from './metrics.ts';
import type { Batch, DenseBatch, MetricSums, Model, PulledValues, StepResult } from './model.ts';

interface Shape {
  readonly inputWidth: number;
  readonly classes: number;
}

/** The sums of one model, kept between batches, so that a step allocates only what it returns (closures: see fm.ts). */
function createSums({ inputWidth, classes }: Shape) {
  /** x W + b of the current record, then its probabilities. */
  const logits = new Float64Array(classes);
  const weightSums = new Float64Array(inputWidth * classes);
  const biasSums = new Float64Array(classes);

  /** Writes x W + b of a record to `logits`. Inputs of 0, most of an image, add nothing and are passed over. */
  function forward({ inputs }: DenseBatch, values: PulledValues, record: number): void {
    const [weights, bias] = values.dense as [Float32Array, Float32Array];
    logits.set(bias);
    const base = record * inputWidth;
    for (let input = 0; input < inputWidth; input++) {
      const x = inputs[base + input]!;
      if (x === 0) continue;
      const row = input * classes;
      for (let c = 0; c < classes; c++) logits[c] = logits[c]! + x * weights[row + c]!;
    }
  }

  function start(): void {
    weightSums.fill(0);
    biasSums.fill(0);
  }

  /** Adds the outer product of a record's inputs and its dloss/dlogits, which are in `logits`. */
  function backward({ inputs }: DenseBatch, record: number): void {
    const base = record * inputWidth;
    for (let c = 0; c < classes; c++) biasSums[c] = biasSums[c]! + logits[c]!;
    for (let input = 0; input < inputWidth; input++) {
      const x = inputs[base + input]!;
      if (x === 0) continue;
      const row = input * classes;
      for (let c = 0; c < classes; c++) weightSums[row + c] = weightSums[row + c]! + x * logits[c]!;
    }
  }

  /** Of W and b. */
  const means = (records: number): Float32Array[] =>
    [weightSums, biasSums].map((sums) => meanGradient(sums, sums.length, records));

  return { logits, forward, start, backward, means };
}

/** Throws `DataInvalid` when the data has no inputs or fewer than two classes. */
export function createSoftmax(shape: Shape): Model {
  const { inputWidth, classes } = shape;
  if (inputWidth < 1 || classes < 2) {
    throw new PaddletError(
      'DataInvalid',
      `softmax needs inputs and classes, the data has ${inputWidth} and ${classes}`,
    );
  }
  const sums = createSums(shape);
  const { logits } = sums;

  function step(batch: Batch, values: PulledValues): StepResult {
    const data = checkedBatch(batch, values, shape);
    const loss = new ClassLoss(logits);
    sums.start();
    for (let record = 0; record < data.records; record++) {
      const label = data.labels[record]!;
      sums.forward(data, values, record);
      loss.add(label);
      logits[label] = logits[label]! - 1;
      sums.backward(data, record);
    }
    return { dense: sums.means(data.records), sparse: [], metrics: loss.sums() };
  }

  function evaluate(batch: Batch, values: PulledValues): ReturnType<Model['evaluate']> {
    const data = checkedBatch(batch, values, shape);
    const scores = new Float32Array(data.records);
    const loss = new ClassLoss(logits);
    for (let record = 0; record < data.records; record++) {
      sums.forward(data, values, record);
      scores[record] = loss.add(data.labels[record]!);
    }
    return { metrics: loss.sums(), scores };
  }

  return { type: 'softmax', input: 'dense', task: 'multiclass', parameters: parametersOf(shape), step, evaluate };
}

const parametersOf = ({ inputWidth, classes }: Shape): Model['parameters'] => ({
  dense: [
    { name: 'W', shape: [inputWidth, classes], initializer: { type: 'zeros' } },
    { name: 'b', shape: [classes], initializer: { type: 'zeros' } },
  ],
  sparse: [],
});

function checkedBatch(batch: Batch, values: PulledValues, { inputWidth, classes }: Shape): DenseBatch {
  const data = denseBatch(batch, inputWidth);
  const [weights, bias] = values.dense;
  assert(weights?.length === inputWidth * classes && bias?.length === classes, 'W and b have their shapes');
  for (const label of data.labels) assert(Number.isInteger(label) && label >= 0 && label < classes, 'a known class');
  return data;
}

/** Collects loss and metrics of a batch; turns logits into probabilities in place. */
class ClassLoss {
  private readonly logits: Float64Array;
  private records = 0;
  private loss = 0;
  private correct = 0;
  private squaredError = 0;

  constructor(logits: Float64Array) {
    this.logits = logits;
  }

  /** Returns the probability of the label. The first of equal classes is the predicted one. */
  add(label: number): number {
    const { logits } = this;
    const own = logits[label]!;
    let best = 0;
    for (let c = 1; c < logits.length; c++) if (logits[c]! > logits[best]!) best = c;
    // Shifted by the largest, so that no exponential overflows.
    const highest = logits[best]!;
    let total = 0;
    for (let c = 0; c < logits.length; c++) {
      const power = exp(logits[c]! - highest);
      logits[c] = power;
      total += power;
    }
    for (let c = 0; c < logits.length; c++) logits[c] = logits[c]! / total;
    const probability = logits[label]!;
    this.records++;
    this.loss += clippedLogLoss(log(total) - (own - highest));
    if (best === label) this.correct++;
    this.squaredError += (1 - probability) * (1 - probability);
    return probability;
  }

  sums(): MetricSums {
    const { records, loss, correct, squaredError } = this;
    return { records, loss, correct, squaredError };
  }
}
