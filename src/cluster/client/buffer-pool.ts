/**
 * Float arrays that are used again. Fresh memory has to be mapped and cleared page by page, which costs more than
 * filling it.
 */
import type { PulledValues } from '../../model/model.ts';
import { elementCount } from '../../tensor/blocks.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';

/** Free arrays kept of each parameter: one is in use while the next values are pulled. */
const FREE_KEPT = 2;
/**
 * An array this many times longer than asked for is not given out: a small batch does not hold a large one's memory.
 */
const OVERSIZE_FACTOR = 4;
/** A free array that this many requests passed over is dropped: one large batch does not hold its memory for ever. */
const DROPPED_AFTER = 256;

export interface PulledValuesPool {
  /** Arrays with arbitrary content for all dense parameters and `rows` rows of each table. */
  acquire(rows: number): PulledValues;
  release(values: PulledValues): void;
}

export function createPulledValuesPool(spec: ParameterSpec): PulledValuesPool {
  const dense = spec.dense.map((parameter) => ({ length: elementCount(parameter), pool: createBufferPool() }));
  const sparse = spec.sparse.map(({ width }) => ({ width, pool: createBufferPool() }));
  return {
    acquire: (rows) => ({
      dense: dense.map(({ length, pool }) => pool.acquire(length)),
      sparse: sparse.map(({ width, pool }) => pool.acquire(rows * width)),
    }),
    release(values) {
      values.dense.forEach((array, p) => {
        dense[p]!.pool.release(array.buffer);
      });
      values.sparse.forEach((array, t) => {
        sparse[t]!.pool.release(array.buffer);
      });
    },
  };
}

export interface BufferPool {
  /** An array of `length` floats with arbitrary content. */
  acquire(length: number): Float32Array;
  /** `memory`: the buffer of an array that `acquire` returned and that nothing refers to any more. */
  release(memory: ArrayBufferLike): void;
}

/** Keeps at most `freeKept` free arrays. */
export function createBufferPool(freeKept = FREE_KEPT): BufferPool {
  let free: { readonly array: Float32Array; readonly releasedAt: number }[] = [];
  let acquired = 0;
  return {
    acquire(length) {
      acquired += 1;
      const found = free.findIndex(({ array }) => array.length >= length && array.length <= OVERSIZE_FACTOR * length);
      if (found < 0) return new Float32Array(length);
      return free.splice(found, 1)[0]!.array.subarray(0, length);
    },
    release(memory) {
      const recent = free.filter(({ releasedAt }) => acquired - releasedAt <= DROPPED_AFTER);
      free = [{ array: new Float32Array(memory), releasedAt: acquired }, ...recent].slice(0, freeKept);
    },
  };
}
