/**
 * Layer normalization (Ba, Kiros & Hinton 2016): each record's floats are brought to mean 0 and variance 1. Batch
 * normalization (Ioffe & Szegedy 2015): each column's, over the mini-batch; a trained model uses running statistics.
 * These are dense parameters (`DenseSpec.statisticRate`), so they are saved, moved and copied as weights are, and each
 * push counts once. They begin with 0; `seen` is the same running mean of 1, by which they are divided. So a push
 * without records, which brings zeros, changes neither. Then gain and bias, which are learned, are applied.
 */
import type { Layer, LayerBackward } from './layer.ts';
import { bytesOfRows } from './layer.ts';

export interface LayerNormOptions {
  /** Added to the variance. */
  readonly epsilon?: number | undefined;
}

export interface BatchNormOptions extends LayerNormOptions {
  /** Share of the way to the statistics of a mini-batch that the running ones go. */
  readonly rate?: number | undefined;
}

const learned = (name: string, width: number): Layer['dense'] => [
  { name: `${name}.gain`, shape: [width], initializer: { type: 'constant', value: 1 } },
  { name: `${name}.bias`, shape: [width], initializer: { type: 'zeros' } },
];

/** Bytes of `count` f64, rounded up to a multiple of 16. */
const doubles = (count: number): number => Math.ceil(count / 2) * 16;

export function createLayerNorm(name: string, { epsilon = 1e-5 }: LayerNormOptions, { width }: Layer): Layer {
  return {
    name,
    width,
    dense: learned(name, width),
    keptBytes: (records) => bytesOfRows(records, width) + doubles(records),
    forward(kernels, { records, inputs, output, parameters, kept }) {
      const [gain, bias] = parameters;
      const inverses = kept + bytesOfRows(records, width);
      kernels.normalizeRows(records, width, epsilon, inputs[0]!, gain!, bias!, kept, inverses, output);
    },
    backward(kernels, { records, parameters, gradient, inputGradients, parameterGradients, kept }) {
      const [gain, bias] = parameterGradients;
      kernels.gainGradients(records, width, kept, gradient, gain!, bias!);
      const inverses = kept + bytesOfRows(records, width);
      const [to] = inputGradients;
      if (to !== 0) kernels.rowsInputGradient(records, width, parameters[0]!, kept, inverses, gradient, to!);
    },
  };
}

export function createBatchNorm(
  name: string,
  { epsilon = 1e-5, rate: statisticRate = 0.1 }: BatchNormOptions,
  { width }: Layer,
): Layer {
  const keptAt = (kept: number, records: number) => {
    const inverses = kept + bytesOfRows(records, width);
    return { inverses, means: inverses + doubles(width), variances: inverses + 2 * doubles(width) };
  };
  return {
    name,
    width,
    dense: [
      ...learned(name, width),
      { name: `${name}.mean`, shape: [width], initializer: { type: 'zeros' }, statisticRate },
      { name: `${name}.variance`, shape: [width], initializer: { type: 'zeros' }, statisticRate },
      { name: `${name}.seen`, shape: [1], initializer: { type: 'zeros' }, statisticRate },
    ],
    keptBytes: (records) => bytesOfRows(records, width) + 3 * doubles(width),
    forward(kernels, { records, isTraining, inputs, output, parameters, kept }) {
      const [gain, bias, mean, variance, seen] = parameters as [number, number, number, number, number];
      const x = inputs[0]!;
      if (!isTraining) {
        kernels.normalizeByStatistics(records, width, epsilon, x, gain, bias, mean, variance, seen, output);
        return;
      }
      const { inverses, means, variances } = keptAt(kept, records);
      kernels.normalizeColumns(records, width, epsilon, x, gain, bias, kept, inverses, means, variances, output);
    },
    backward(kernels, run: LayerBackward) {
      const { records, parameters, gradient, inputGradients, parameterGradients, kept } = run;
      const [gain, bias, mean, variance, seen] = parameterGradients as [number, number, number, number, number];
      const { inverses, means, variances } = keptAt(kept, records);
      kernels.gainGradients(records, width, kept, gradient, gain, bias);
      kernels.statisticGradient(width, means, mean);
      kernels.statisticGradient(width, variances, variance);
      kernels.fillValues(1, -1, seen);
      const [to] = inputGradients;
      if (to !== 0) kernels.columnsInputGradient(records, width, parameters[0]!, kept, inverses, gradient, to!);
    },
  };
}
