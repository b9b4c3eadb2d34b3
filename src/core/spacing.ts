/**
 * Which points of a growing list are kept, so that there are never more than `most`: those at a distance that doubles
 * whenever there would be more. It depends on how far the list has come alone, not on how it came there: a master that
 * knows more of the points keeps the same ones.
 */

/** The smallest power of two of which no more than `most` fit into `length`. */
export function spacingOf(length: number, most: number): number {
  let spacing = 1;
  while (length / spacing > most) spacing *= 2;
  return spacing;
}

/** Whether a point is kept that comes after the last one, both from 0 on: it is the first of its stretch. */
export function isFirst(last: number, position: number, most: number): boolean {
  const spacing = spacingOf(position, most);
  return Math.floor(position / spacing) > Math.floor(last / spacing);
}

/** Without points that are not the first of their stretch once `reached` is. Positions ascend. */
export function thinned<T>(points: readonly T[], positionOf: (point: T) => number, reached: number, most: number): T[] {
  const spacing = spacingOf(reached, most);
  let last = 0;
  return points.filter((point) => {
    const stretch = Math.floor(positionOf(point) / spacing);
    const isKept = stretch > last;
    last = stretch;
    return isKept;
  });
}
