/**
 * Long computations that give way: a generator yields where its thread may do something else, such as keep a lease.
 * The computation stays pure: who runs it decides what happens in between (`inTurns` in src/cluster/waiting.ts).
 */

export type Steps<T> = Generator<void, T, void>;

/**
 * Records per piece: about 2 ms of work (20 ms with random memory access). Smaller inputs are processed in one piece.
 */
export const PIECE = 2 ** 16;

/** Calls `work` for [0, length) in pieces, and yields between them. */
export function* inPieces(length: number, work: (from: number, to: number) => void): Steps<void> {
  for (let from = 0; from < length; from += PIECE) {
    if (from > 0) yield;
    work(from, Math.min(from + PIECE, length));
  }
}

/** Runs it to its end, where nothing else has to be done. */
export function allAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
