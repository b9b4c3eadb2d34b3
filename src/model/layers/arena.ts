/** Memory of a network: outputs and gradients of all layers, laid out once for the largest batch so far. */
import type { ArrayMemory } from '../../tensor/array-memory.ts';
import { KeptMemory, SUMS_BYTES } from '../kernel-step.ts';
import type { Graph } from './graph.ts';
import { bytesOfRows } from './layer.ts';

/** Addresses, by layer. */
export interface Arena {
  readonly outputs: readonly number[];
  readonly gradients: readonly number[];
  readonly kept: readonly number[];
  /** Address of what a layer needs only during a call. */
  readonly scratch: number;
  /** Room for the gradients of one layer that are added to others. */
  readonly spare: number;
  readonly sums: number;
}

export class NetworkMemory {
  readonly #graph: Graph;
  readonly #memory: KeptMemory;
  #records = 0;
  #arena: Arena | undefined;

  constructor(graph: Graph, memory: ArrayMemory) {
    this.#graph = graph;
    this.#memory = new KeptMemory(memory);
  }

  /** The arena for at least this number of records. Throws `OutOfMemory`. */
  arenaFor(records: number): Arena {
    if (this.#arena !== undefined && records <= this.#records) return this.#arena;
    // The former memory is given up, even if there is no room for more.
    this.#arena = undefined;
    const { byteLength } = this.#layOut(records, 0);
    const { arena } = this.#layOut(records, this.#memory.take(byteLength));
    this.#records = records;
    this.#arena = arena;
    return arena;
  }

  #layOut(records: number, from: number): { readonly arena: Arena; readonly byteLength: number } {
    const { layers } = this.#graph;
    const { kernels } = this.#memory.heap;
    let at = from;
    const room = (bytes: number): number => {
      const place = at;
      at += bytes;
      return place;
    };
    const most = (sizes: readonly number[]): number => room(Math.ceil(Math.max(0, ...sizes) / 16) * 16);
    const arena = {
      sums: room(SUMS_BYTES),
      outputs: layers.map(({ layer }) => room(bytesOfRows(records, layer.width))),
      gradients: layers.map(({ layer, learns }) => room(learns ? bytesOfRows(records, layer.width) : 0)),
      kept: layers.map(({ layer }) => room(layer.keptBytes?.(records) ?? 0)),
      scratch: most(layers.map(({ layer }) => layer.scratchBytes?.(kernels, records) ?? 0)),
      spare: most(
        layers.map(({ inputs, gradientsTo }) =>
          inputs.reduce((sum, input, i) => {
            return gradientsTo[i] === 'added' ? sum + bytesOfRows(records, layers[input]!.layer.width) : sum;
          }, 0),
        ),
      ),
    };
    return { arena, byteLength: at - from };
  }
}
