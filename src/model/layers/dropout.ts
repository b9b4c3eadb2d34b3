/**
 * Dropout (Srivastava et al., JMLR 2014): in training each float is 0 with this rate; the others are divided by
 * 1 − rate. Which ones is drawn from the job's seed, the name of the layer and the place of the batch, so a batch that
 * is computed again loses the same.
 */
import { assert } from '../../base/assert.ts';
import { randomKey } from '../../tensor/initializer.ts';
import { bytesOfRows, type Layer } from './layer.ts';

export interface DropoutOptions {
  readonly rate: number;
}

export function createDropout(
  name: string,
  { rate }: DropoutOptions,
  { width, vectorWidth }: Layer,
  { seed }: { readonly seed: number },
): Layer {
  const key = randomKey(`dropout/${name}`, seed);
  const [low, high] = [Number(key & 0xffff_ffffn), Number(key >> 32n)];
  const threshold = Math.floor(rate * 2 ** 32);
  const scale = Math.fround(1 / (1 - rate));
  return {
    name,
    width,
    ...(vectorWidth !== undefined && { vectorWidth }),
    dense: [],
    /** The multipliers. */
    keptBytes: (records) => bytesOfRows(records, width),
    forward(kernels, { records, isTraining, place, inputs, output, kept }) {
      const count = records * width;
      if (!isTraining) {
        kernels.copyColumns(1, count, inputs[0]!, count, output, count);
        return;
      }
      assert(place !== undefined, 'dropout gets the number of the batch');
      const { batch, task, pass } = place;
      kernels.drawMultipliers(count, threshold, scale, low, high, batch, task, pass, kept);
      kernels.multiplyValues(count, inputs[0]!, kept, output);
    },
    backward(kernels, { records, gradient, inputGradients, kept }) {
      const [to] = inputGradients;
      if (to !== 0) kernels.multiplyValues(records * width, gradient, kept, to!);
    },
  };
}
