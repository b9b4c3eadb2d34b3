import type { ReadFeatures } from '../../piece.ts';

/** The highest id of the features, or `other` if `other` is higher. */
export function highestId({ ids, features }: ReadFeatures, other: bigint): bigint {
  const halves = new Uint32Array(ids.buffer, ids.byteOffset, 2 * features);
  let [low, high] = [-1, 0];
  for (let at = 0; at < halves.length; at += 2) {
    const [idLow, idHigh] = [halves[at]!, halves[at + 1]!];
    if (idHigh < high || (idHigh === high && idLow <= low)) continue;
    low = idLow;
    high = idHigh;
  }
  const highest = (BigInt(high) << 32n) + BigInt(low);
  return highest > other ? highest : other;
}
