/**
 * Arrays that pulled values lie in, used again: fresh memory has to be mapped and cleared page by page, which costs more than
 * filling it.
 */
import type { PulledValues } from '../../model/model.ts';
import { elementCount } from '../../tensor/blocks.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';

/** Of each parameter: one set is worked with while the next is pulled. */
const MOST_KEPT = 2;
/** An array much longer than what is needed is not taken, and what nobody took for so long goes: one large batch is not held for ever. */
const MOST_TOO_LONG = 4;
const MOST_TAKES_UNUSED = 256;

export interface PulledValuesPool {
  /** Arrays with any content for all dense parameters and `rows` rows of each table. */
  take(rows: number): PulledValues;
  giveBack(values: PulledValues): void;
}

export function createPulledValuesPool(spec: ParameterSpec): PulledValuesPool {
  const dense = spec.dense.map((parameter) => ({ length: elementCount(parameter), kept: createBufferPool() }));
  const sparse = spec.sparse.map(({ width }) => ({ width, kept: createBufferPool() }));
  return {
    take: (rows) => ({
      dense: dense.map(({ length, kept }) => kept.take(length)),
      sparse: sparse.map(({ width, kept }) => kept.take(rows * width)),
    }),
    giveBack(values) {
      values.dense.forEach((array, p) => {
        dense[p]!.kept.giveBack(array.buffer);
      });
      values.sparse.forEach((array, t) => {
        sparse[t]!.kept.giveBack(array.buffer);
      });
    },
  };
}

export interface BufferPool {
  /** Of that length, with any content. */
  take(length: number): Float32Array;
  /** What an array that was taken lies in. */
  giveBack(memory: ArrayBufferLike): void;
}

/** Keeps at most `mostKept` arrays. */
export function createBufferPool(mostKept = MOST_KEPT): BufferPool {
  let kept: { readonly array: Float32Array; readonly since: number }[] = [];
  let takes = 0;
  return {
    take(length) {
      takes += 1;
      const found = kept.findIndex(({ array }) => array.length >= length && array.length <= MOST_TOO_LONG * length);
      if (found < 0) return new Float32Array(length);
      return kept.splice(found, 1)[0]!.array.subarray(0, length);
    },
    giveBack(memory) {
      const others = kept.filter(({ since }) => takes - since <= MOST_TAKES_UNUSED);
      kept = [{ array: new Float32Array(memory), since: takes }, ...others].slice(0, mostKept);
    },
  };
}
