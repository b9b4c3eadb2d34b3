/** Functions of each float: relu, sigmoid and tanh. */
import type { KernelExports } from '../../tensor/kernels/exports.ts';
import type { Layer } from './layer.ts';

interface Activation {
  readonly forward: (kernels: KernelExports, count: number, x: number, to: number) => void;
  /** Computes the gradient from the output y. */
  readonly backward: (kernels: KernelExports, count: number, y: number, gradient: number, to: number) => void;
}

const FUNCTIONS = {
  relu: {
    forward: (kernels, count, x, to) => kernels.relu(count, x, to),
    backward: (kernels, count, y, gradient, to) => kernels.reluGradient(count, y, gradient, to),
  },
  sigmoid: {
    forward: (kernels, count, x, to) => kernels.sigmoids(count, x, to),
    backward: (kernels, count, y, gradient, to) => kernels.sigmoidGradient(count, y, gradient, to),
  },
  tanh: {
    forward: (kernels, count, x, to) => kernels.tanhs(count, x, to),
    backward: (kernels, count, y, gradient, to) => kernels.tanhGradient(count, y, gradient, to),
  },
} as const satisfies Readonly<Record<string, Activation>>;

export type ActivationType = keyof typeof FUNCTIONS;
export const ACTIVATIONS = Object.keys(FUNCTIONS) as [ActivationType, ...ActivationType[]];

export function createActivation(name: string, type: ActivationType, { width, vectorWidth }: Layer): Layer {
  const activation: Activation = FUNCTIONS[type];
  return {
    name,
    width,
    ...(vectorWidth !== undefined && { vectorWidth }),
    dense: [],
    forward: (kernels, { records, inputs, output }) => activation.forward(kernels, records * width, inputs[0]!, output),
    backward(kernels, { records, output, gradient, inputGradients }) {
      const [to] = inputGradients;
      if (to !== 0) activation.backward(kernels, records * width, output, gradient, to!);
    },
  };
}
