/** y = x W + b, with W [inputs, units] and b [units]. */
import type { Layer } from './layer.ts';

export interface DenseOptions {
  readonly units: number;
  /** Whether there is a `b`. */
  readonly bias?: boolean | undefined;
}

export function createDense(name: string, { units, bias = true }: DenseOptions, { width }: Layer): Layer {
  const weights = { name: `${name}.W`, shape: [width, units], initializer: { type: 'xavier' } } as const;
  const biases = { name: `${name}.b`, shape: [units], initializer: { type: 'zeros' } } as const;
  return {
    name,
    width: units,
    dense: bias ? [weights, biases] : [weights],
    scratchBytes: (kernels, records) => kernels.denseScratch(records, width, units),
    forward(kernels, { records, inputs, output, parameters, scratch }) {
      kernels.denseOutputs(records, width, units, inputs[0]!, parameters[0]!, output, scratch);
      if (bias) kernels.addBias(records, units, output, parameters[1]!);
    },
    backward(kernels, { records, inputs, parameters, gradient, inputGradients, parameterGradients, scratch }) {
      const [input, inputGradient] = [inputs[0]!, inputGradients[0]!];
      kernels.denseWeightGradient(records, width, units, input, gradient, parameterGradients[0]!, scratch);
      if (bias) kernels.sumRecords(records, units, gradient, parameterGradients[1]!);
      if (inputGradient === 0) return;
      kernels.denseInputGradient(records, width, units, gradient, parameters[0]!, inputGradient, scratch);
    },
  };
}
