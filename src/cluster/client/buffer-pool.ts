/**
 * Float arrays that are used again. Fresh memory has to be mapped and cleared page by page, which costs more than
 * filling it.
 */
import type { PulledValues } from '../../model/model.ts';
import type { ArrayMemory } from '../../tensor/array-memory.ts';
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
  /**
   * Arrays with arbitrary content: for all dense parameters, unless `dense` has them, and for `rows` rows of each
   * table.
   */
  acquire(rows: readonly number[], dense?: PulledValues['dense']): PulledValues;
  release(values: PulledValues): void;
}

/** `memory`: that of the model, which then finds the values where it needs them. */
export function createPulledValuesPool(spec: ParameterSpec, memory?: ArrayMemory): PulledValuesPool {
  if (memory !== undefined) return poolIn(spec, memory);
  const dense = spec.dense.map((parameter) => ({ length: elementCount(parameter), pool: createBufferPool() }));
  const sparse = spec.sparse.map(({ width }) => ({ width, pool: createBufferPool() }));
  return {
    acquire: (rows, given) => ({
      dense: given ?? dense.map(({ length, pool }) => pool.acquire(length)),
      sparse: sparse.map(({ width, pool }, table) => pool.acquire(rows[table]! * width)),
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

const poolIn = (spec: ParameterSpec, memory: ArrayMemory): PulledValuesPool => ({
  acquire: (rows, given) => ({
    dense: given ?? spec.dense.map((parameter) => memory.floats(elementCount(parameter))),
    sparse: spec.sparse.map(({ width }, table) => memory.floats(rows[table]! * width)),
  }),
  release({ dense, sparse }) {
    for (const array of [...dense, ...sparse]) memory.free(array);
  },
});

export interface BufferPool {
  /** An array of `length` floats with arbitrary content. */
  acquire(length: number): Float32Array;
  /** `memory`: the buffer of an array that `acquire` returned and that nothing refers to. */
  release(memory: ArrayBufferLike): void;
}

/** Keeps at most `freeKept` free arrays. */
export function createBufferPool(freeKept = FREE_KEPT): BufferPool {
  /** Those released last come last: mostly they are taken first. */
  const free: { readonly array: Float32Array; readonly releasedAt: number }[] = [];
  let acquired = 0;
  const isOld = (at: number): boolean => at < free.length && acquired - free[at]!.releasedAt > DROPPED_AFTER;
  return {
    acquire(length) {
      acquired += 1;
      for (let at = free.length - 1; at >= 0; at--) {
        const { array } = free[at]!;
        if (array.length < length || array.length > OVERSIZE_FACTOR * length) continue;
        if (at === free.length - 1) free.pop();
        else free.splice(at, 1);
        return array.length === length ? array : array.subarray(0, length);
      }
      return new Float32Array(length);
    },
    release(memory) {
      while (isOld(0) || free.length >= freeKept) free.shift();
      free.push({ array: new Float32Array(memory), releasedAt: acquired });
    },
  };
}
