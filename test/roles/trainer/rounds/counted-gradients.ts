/** The memory of a model that knows which gradients are in it. Those that are given back are numbers no more. */
import type { Model } from '../../../../src/model/model.ts';
import { ArrayMemory } from '../../../../src/tensor/array-memory.ts';

export class CountedGradients extends ArrayMemory {
  /** Those that were made and not given back. */
  readonly held = new Set<Float32Array>();

  /** The same model with its gradients in this memory. */
  of<M extends Pick<Model, 'step'>>(model: M): M & { readonly memory: ArrayMemory } {
    const step: Model['step'] = (batch, values) => {
      const { dense, sparse, metrics } = model.step(batch, values);
      return { dense: dense.map(this.#copy), sparse: sparse.map(this.#copy), metrics };
    };
    return { ...model, memory: this, step };
  }

  readonly #copy = (gradient: Float32Array): Float32Array => {
    const copy = this.floats(gradient.length);
    copy.set(gradient);
    this.held.add(copy);
    return copy;
  };

  override free(array: Float32Array): void {
    if (!this.held.delete(array)) throw new Error('gradients are given back twice');
    array.fill(Number.NaN);
    super.free(array);
  }
}
