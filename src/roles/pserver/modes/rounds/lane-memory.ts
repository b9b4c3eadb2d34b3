/**
 * Sync mode: the memory for lanes until their round is applied, reused for lanes of later rounds. The pool keeps at
 * most the memory for one round. If a round is dropped or its units leave, its memory is not given back, but
 * garbage-collected.
 */
import { createBufferPool } from '../../../../cluster/client/buffer-pool.ts';
import type { DensePart, SparsePart } from '../../../../tensor/parameters.ts';

/** Sizes are multiples of this. Lanes of a job have similar numbers of rows, so most lanes get the same size. */
const SIZE_STEP_BYTES = 16 * 1024;
/** Alignment of ids, in bytes. */
const ALIGNMENT = 8;

export interface LaneParts {
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

export interface CopiedLane extends LaneParts {
  /** Memory that contains the ids and gradients; undefined if it must not be given back. */
  readonly memory: ArrayBufferLike | undefined;
}

export class LaneMemory {
  readonly #pool;

  /** `lanes`: number of lanes of a round. */
  constructor(lanes: number) {
    this.#pool = createBufferPool(lanes);
  }

  copyOf({ dense, sparse }: LaneParts): CopiedLane {
    const gradientBytes = [...dense, ...sparse].reduce((sum, part) => sum + aligned(part.gradients.length), 0);
    const byteLength = sparse.reduce((sum, { ids }) => sum + ids.length, gradientBytes);
    const size = Math.ceil(byteLength / SIZE_STEP_BYTES) * SIZE_STEP_BYTES;
    const memory = byteLength === 0 ? undefined : this.#pool.acquire(size / 4).buffer;
    let at = 0;
    const copied = (bytes: Uint8Array): Uint8Array => {
      const copy = new Uint8Array(memory ?? new ArrayBuffer(0), at, bytes.length);
      copy.set(bytes);
      at += aligned(bytes.length);
      return copy;
    };
    return {
      dense: dense.map((part) => ({ ...part, blocks: part.blocks.slice(), gradients: copied(part.gradients) })),
      sparse: sparse.map((part) => ({ ...part, ids: copied(part.ids), gradients: copied(part.gradients) })),
      memory,
    };
  }

  /** To be called when nothing refers to the lane's ids and gradients. */
  giveBack({ memory }: Pick<CopiedLane, 'memory'>): void {
    if (memory !== undefined) this.#pool.release(memory);
  }
}

const aligned = (byteLength: number): number => Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT;
