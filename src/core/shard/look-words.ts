/** When a shard looks for what is unseen, as words: in checkpoint files, and in the copy of a shard that moves. */
import type { LookState } from './looks.ts';

/** Stands for a look or move that is not due. */
const NEVER = 0xffff_ffff_ffff_ffffn;
/** The base, and the update that moves it; the words of the tables follow. */
const BEFORE_TABLES = 2;

export interface LookWords {
  /** Base; the update that moves it; then for each table the update that looks. 2^64 − 1: none is due. */
  readonly looks: BigUint64Array<ArrayBuffer>;
  /** Pass and begin, one after the other, passes ascending. */
  readonly begins: BigUint64Array<ArrayBuffer>;
}

export const looksLength = (tables: number): number => BEFORE_TABLES + tables;

export function lookWords({ base, moveAt, lookAt, begins }: LookState): LookWords {
  const when = (seq: number | undefined): bigint => (seq === undefined ? NEVER : BigInt(seq));
  return {
    looks: BigUint64Array.from([BigInt(base), when(moveAt), ...lookAt.map(when)]),
    begins: BigUint64Array.from(begins.flat(), BigInt),
  };
}

/** Returns undefined if `lookWords` cannot have made these words for this number of tables. */
export function looksOfWords({ looks, begins }: LookWords, tables: number): LookState | undefined {
  if (looks.length !== looksLength(tables) || begins.length % 2 !== 0) return undefined;
  const [base, moveAt, ...lookAt] = Array.from(looks, (word) => (word === NEVER ? undefined : Number(word)));
  const pairs = Array.from({ length: begins.length / 2 }, (_, at): [number, number] => {
    return [Number(begins[2 * at]), Number(begins[2 * at + 1])];
  });
  const areAscending = pairs.every(([pass], at) => at === 0 || pass > pairs[at - 1]![0]);
  const numbers = [base, moveAt, ...lookAt, ...pairs.flat()];
  if (base === undefined || !areAscending || !numbers.every((one) => one === undefined || Number.isSafeInteger(one)))
    return undefined;
  return { base, moveAt, begins: pairs, lookAt };
}
