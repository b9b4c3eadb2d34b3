/**
 * What is done about NaN and infinite values in gradients (`training.onBadGradient`): pushed as they are, they would
 * spoil the parameters for every trainer. It also clips long gradients (`training.maxGradientNorm`), and drops values
 * that are too small to count.
 */
import { PaddletError } from '../../../base/errors.ts';
import type { Log } from '../../../base/seams.ts';
import type { Gradients } from '../../../cluster/client/parameter-client.ts';
import type { Job } from '../../../job/schema.ts';
import { noMetrics } from '../../../model/metrics.ts';
import type { MetricSums, Model } from '../../../model/model.ts';
import { areFinite } from '../../../tensor/finite-array.ts';
import type { DenseSpec } from '../../../tensor/spec.ts';
import { dropTiny } from '../../../tensor/tiny.ts';

/** Added to the norm by which is divided, as PyTorch's `clip_grad_norm_` does. */
const NORM_EPSILON = 1e-6;

export type GradientRules = Pick<Job['training'], 'onBadGradient' | 'maxGradientNorm'>;

export class GradientCheck {
  readonly #rules: GradientRules;
  readonly #log: Pick<Log, 'warn'>;
  readonly #dense: readonly DenseSpec[];
  readonly #onBad: () => void;
  #bad = 0;

  /**
   * Statistics are not gradients: they do not count in the norm. `onBad` is called for each gradient that is not
   * finite.
   */
  constructor(rules: GradientRules, log: Pick<Log, 'warn'>, dense: readonly DenseSpec[], onBad: () => void = () => {}) {
    this.#rules = rules;
    this.#dense = dense;
    this.#log = log;
    this.#onBad = onBad;
  }

  /**
   * Checks all that is pushed together. Throws `BadGradient`, or changes the arrays: with `clip`, values that are not
   * finite become 0; then the L2 norm is clipped, if the job has a largest one; then tiny values become 0. `describe`:
   * file and lines of the records.
   */
  check(gradients: Gradients, describe: () => string): void {
    const { dense, sparse } = gradients;
    const { onBadGradient, maxGradientNorm } = this.#rules;
    const isBad = ![...dense, ...sparse].every(areFinite);
    if (isBad) this.#onBad();
    if (isBad && onBadGradient === 'fail') throw badGradient(describe());
    if (isBad) {
      this.#told(describe);
      for (const values of [...dense, ...sparse]) zeroBad(values);
    }
    if (maxGradientNorm !== undefined) {
      const learned = dense.filter((_, at) => this.#dense[at]?.statisticRate === undefined);
      clipNorm([...learned, ...sparse], maxGradientNorm);
    }
    for (const values of [...dense, ...sparse]) dropTiny(values);
  }

  /** What counts of the metrics of a mini-batch. Those that are not finite belong to a gradient that is not. */
  metricsOf(sums: MetricSums): MetricSums {
    if (this.#rules.onBadGradient === 'fail' || Object.values(sums).every(Number.isFinite)) return sums;
    return { ...noMetrics, records: sums.records };
  }

  /** The first, the second, the fourth, the eighth, …: a job may have many. */
  #told(describe: () => string): void {
    this.#bad += 1;
    if ((this.#bad & (this.#bad - 1)) !== 0) return;
    this.#log.warn(`the gradient of ${describe()} has NaN or infinite values: they count as 0`, { soFar: this.#bad });
  }
}

export const gradientCheckOf = (
  { training }: Pick<Job, 'training'>,
  { parameters }: Pick<Model, 'parameters'>,
  log: Pick<Log, 'warn'>,
  onBad?: () => void,
): GradientCheck => new GradientCheck(training, log, parameters.dense, onBad);

function zeroBad(values: Float32Array): void {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i]!)) values[i] = 0;
}

/** Sums in f64 in the order of the arrays, which is that of parameters, tables and the first use of ids. */
function clipNorm(arrays: readonly Float32Array[], maxNorm: number): void {
  let squares = 0;
  for (const values of arrays) for (let i = 0; i < values.length; i++) squares += values[i]! * values[i]!;
  const scale = maxNorm / (Math.sqrt(squares) + NORM_EPSILON);
  if (scale >= 1) return;
  for (const values of arrays) for (let i = 0; i < values.length; i++) values[i] = values[i]! * scale;
}

/** `records`: file and lines, for the message. */
function badGradient(records: string): PaddletError {
  return new PaddletError('BadGradient', `the gradient of ${records} has NaN or infinite values`, {
    hint:
      'lower the learning rate, or check these records for extreme values; ' +
      'set training.onBadGradient: clip to continue',
  });
}
