/** The least recent ids of a shard: those with the lowest `seen`, then the lowest unsigned id. */

/** Ids in any order, each with its `seen`. */
export interface AgedIds {
  readonly ids: BigUint64Array;
  readonly seen: Uint32Array;
  /** Size of each id's row or candidate. */
  readonly bytes: number;
}

const BUCKETS = 2048;

/**
 * Returns the least recent ids of all lists together, just enough to free at least `bytes`, as one array for each list.
 * Ids with `seen` = `now` are never returned. The other ids must have at least `bytes`.
 */
export function leastRecent(lists: readonly AgedIds[], now: number, bytes: number): BigUint64Array[] {
  const { seen: last, bytes: missing } = lastToGo(lists, now, bytes);
  const ties = lists.flatMap((list, number) =>
    idsWhere(list, (seen) => seen === last).map((id) => ({ id, number, bytes: list.bytes })),
  );
  let left = missing;
  const chosenTies = ties
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .filter((tie) => {
      const isChosen = left > 0;
      left -= tie.bytes;
      return isChosen;
    });
  return lists.map((list, number) => {
    const older = idsWhere(list, (seen) => seen < last && seen !== now);
    const tied = chosenTies.filter((tie) => tie.number === number).map(({ id }) => id);
    return BigUint64Array.from([...older, ...tied]);
  });
}

/** Reads only the chosen ids, because each read allocates a bigint. */
function idsWhere({ ids, seen }: AgedIds, isChosen: (seen: number) => boolean): bigint[] {
  const chosen: bigint[] = [];
  for (let at = 0; at < seen.length; at++) if (isChosen(seen[at]!)) chosen.push(ids[at]!);
  return chosen;
}

/** The highest `seen` of the ids that go, and how many bytes ids with this `seen` must have. */
function lastToGo(lists: readonly AgedIds[], now: number, bytes: number): { seen: number; bytes: number } {
  let from = 0;
  let missing = bytes;
  // Each round divides one bucket of the previous round.
  for (let width = 2 ** 32; width > 1; ) {
    const step = Math.max(1, width / BUCKETS);
    const sums = new Float64Array(BUCKETS);
    for (const { seen, bytes: each } of lists) {
      for (let at = 0; at < seen.length; at++) {
        const place = seen[at]! - from;
        if (place >= 0 && place < width && seen[at] !== now) sums[Math.floor(place / step)]! += each;
      }
    }
    let bucket = 0;
    while (sums[bucket]! < missing && bucket < BUCKETS - 1) missing -= sums[bucket++]!;
    from += bucket * step;
    width = step;
  }
  return { seen: from, bytes: missing };
}
