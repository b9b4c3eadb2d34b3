/** Several layers as one: their floats side by side, or added up. */
import type { Layer } from './layer.ts';

export function createConcat(name: string, inputs: readonly Layer[]): Layer {
  const width = inputs.reduce((sum, input) => sum + input.width, 0);
  const [{ vectorWidth }] = inputs as [Layer, ...Layer[]];
  const isOfVectors = vectorWidth !== undefined && inputs.every((input) => input.vectorWidth === vectorWidth);
  return {
    name,
    width,
    ...(isOfVectors && { vectorWidth }),
    dense: [],
    forward(kernels, run) {
      let at = run.output;
      inputs.forEach((input, number) => {
        kernels.copyColumns(run.records, input.width, run.inputs[number]!, input.width, at, width);
        at += 4 * input.width;
      });
    },
    backward(kernels, { records, gradient, inputGradients }) {
      let at = gradient;
      inputs.forEach((input, number) => {
        const to = inputGradients[number]!;
        if (to !== 0) kernels.copyColumns(records, input.width, at, width, to, input.width);
        at += 4 * input.width;
      });
    },
  };
}

/** Inputs of one width; added in their order. */
export function createAdd(name: string, inputs: readonly Layer[]): Layer {
  const { width } = inputs[0]!;
  return {
    name,
    width,
    dense: [],
    forward(kernels, run) {
      const count = run.records * width;
      kernels.copyColumns(1, count, run.inputs[0]!, count, run.output, count);
      for (const input of run.inputs.slice(1)) kernels.addValues(count, run.output, input);
    },
    backward(kernels, { records, gradient, inputGradients }) {
      const count = records * width;
      for (const to of inputGradients) if (to !== 0) kernels.copyColumns(1, count, gradient, count, to, count);
    },
  };
}
