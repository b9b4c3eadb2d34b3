/** Losses of models with one output a record: what lr and fm share after their prediction. */
import { sigmoid } from '../tensor/math.ts';
import { binaryLogLoss } from './metrics.ts';
import type { MetricSums } from './model.ts';

export type OutputTask = 'binary' | 'regression';

/** Collects loss and metrics of a batch, record by record. */
export class OutputLoss {
  private readonly isBinary: boolean;
  private records = 0;
  private weight = 0;
  private loss = 0;
  private correct = 0;
  private squaredError = 0;
  /** The probability (binary) or prediction (regression) of the record last added. */
  score = 0;

  constructor(task: OutputTask) {
    this.isBinary = task === 'binary';
  }

  /**
   * Adds a record with raw output z, of weight 1. Returns dloss/dz, which is score − label for both tasks: binary has
   * the log loss of p = 1 / (1 + e^−z), regression ½ (z − y)².
   */
  add(output: number, label: number): number {
    const score = this.isBinary ? sigmoid(output) : output;
    const difference = score - label;
    this.score = score;
    this.records++;
    this.weight++;
    this.squaredError += difference * difference;
    if (this.isBinary) {
      this.loss += binaryLogLoss(output, label);
      // An output of exactly 0, a probability of 0.5, predicts 0.
      if (output > 0 === label > 0.5) this.correct++;
    } else {
      this.loss += 0.5 * difference * difference;
    }
    return difference;
  }

  sums(): MetricSums {
    const { records, weight, loss, correct, squaredError } = this;
    return { records, weight, loss, correct, squaredError };
  }
}
