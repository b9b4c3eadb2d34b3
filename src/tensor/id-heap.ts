/** Sorted lists of ids that are merged: which of them is at the least id. */
export interface SortedIds {
  /** The ids as 32-bit halves, the low one first: comparing them makes no BigInt. */
  readonly halves: Uint32Array;
  /** Equal to `length` after the last id. */
  readonly at: number;
  readonly length: number;
}

/** Lists by the id that each is at, the least on top. */
export interface IdHeap {
  size(): number;
  /** Number of the list with the least id. */
  top(): number;
  /** The top one has moved on, or is at its end. */
  sink(): void;
}

/** None of the lists is at its end. */
export function createIdHeap(lists: readonly SortedIds[]): IdHeap {
  const heap = Uint32Array.from(lists, (_, at) => at);
  let size = heap.length;
  const isBelow = (a: number, b: number): boolean => {
    const one = lists[a]!;
    const other = lists[b]!;
    const high = one.halves[2 * one.at + 1]!;
    const otherHigh = other.halves[2 * other.at + 1]!;
    return high < otherHigh || (high === otherHigh && one.halves[2 * one.at]! < other.halves[2 * other.at]!);
  };
  const sinkFrom = (from: number): void => {
    const moving = heap[from]!;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && isBelow(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBelow(heap[child]!, moving)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moving;
  };
  for (let at = (size >> 1) - 1; at >= 0; at--) sinkFrom(at);
  return {
    size: () => size,
    top: () => heap[0]!,
    sink() {
      const { at, length } = lists[heap[0]!]!;
      if (at === length) {
        size -= 1;
        heap[0] = heap[size]!;
      }
      if (size > 0) sinkFrom(0);
    },
  };
}
