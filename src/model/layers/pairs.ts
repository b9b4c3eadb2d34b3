/** All pairs of vectors, as in a factorization machine: one float a record. */
import { assert } from '../../base/assert.ts';
import type { Layer } from './layer.ts';

export function createPairs(name: string, { width, vectorWidth }: Layer): Layer {
  assert(vectorWidth !== undefined, 'pairs are of vectors');
  const count = width / vectorWidth;
  return {
    name,
    width: 1,
    dense: [],
    forward: (kernels, { records, inputs, output }) =>
      kernels.pairInteractions(records, count, vectorWidth, inputs[0]!, output),
    backward(kernels, { records, inputs, gradient, inputGradients }) {
      const [to] = inputGradients;
      if (to !== 0) kernels.pairGradient(records, count, vectorWidth, inputs[0]!, gradient, to!);
    },
  };
}
