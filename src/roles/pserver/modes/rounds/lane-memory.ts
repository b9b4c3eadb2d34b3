/**
 * The memory that lanes are kept in until their round is applied, used again for lanes of later rounds. What is not
 * given back, as its round is thrown away or its units leave, is collected as garbage. Kept for later are at most the
 * lanes of one round.
 */
import { createBufferPool } from '../../../../cluster/client/buffer-pool.ts';
import type { DensePart, SparsePart } from '../../../../tensor/parameters.ts';

/** Sizes are multiples of this: lanes of a job have about as many rows, and so the same size. */
const SIZE_STEP_BYTES = 16 * 1024;
/** Of ids. */
const ALIGNMENT = 8;

export interface LaneParts {
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

export interface CopiedLane extends LaneParts {
  /** What the ids and gradients are in; undefined when they are not to be given back. */
  readonly memory: ArrayBufferLike | undefined;
}

export class LaneMemory {
  readonly #pool;

  /** `lanes`: of a round. */
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

  /** Nothing refers to the lane's ids and gradients any more. */
  giveBack({ memory }: Pick<CopiedLane, 'memory'>): void {
    if (memory !== undefined) this.#pool.release(memory);
  }
}

const aligned = (byteLength: number): number => Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT;
