/**
 * Metrics of the k records with the highest scores of each group: whether a positive is among them (hit rate, HR@k; He
 * et al., Neural Collaborative Filtering, WWW 2017, §4.1), and how far up the positives are (NDCG@k; Järvelin and
 * Kekäläinen 2002) with a gain of 1 / log2(rank + 1). A label above 0.5 is positive.
 *
 * Tied records may be in any order: both metrics are the expected values over all orders (McSherry and Najork, ECIR
 * 2008). So equal scores get what chance gives, and the order of records does not matter.
 */
import { inPieces, type Steps } from '../base/steps.ts';
import { log } from '../tensor/math.ts';
import type { GroupedRecords } from './groups.ts';
import type { NumberedKeys } from './radix-sort.ts';

/** The k of HR@k and NDCG@k, unless the job says another. */
export const DEFAULT_TOP_K = 10;

/** Means over the groups that have a positive, each of which counts once. */
export interface Ranking {
  readonly hitRate: number;
  readonly ndcg: number;
  /** The k of both. */
  readonly topK: number;
}

/** Undefined when no group has a positive. The records of a group come in ascending order of scores. */
export function* rankingOf(
  labels: Float32Array,
  { records, ends }: GroupedRecords,
  topK: number,
): Steps<Ranking | undefined> {
  const ranks = new Ranks(labels, records, topK);
  const length = records.length / 2;
  let group = ends.length - 1;
  // Backwards: ranks count from the highest score.
  yield* inPieces(length, (from, to) => {
    for (let at = length - from; at > length - to; ) {
      const first = group === 0 ? 0 : ends[group - 1]!;
      const next = Math.max(first, length - to);
      ranks.count(next, at);
      at = next;
      if (at > first) return;
      group--;
      ranks.endGroup();
    }
  });
  return ranks.means();
}

/** Σ 1 / log2(rank + 1) over ranks up to each, from 1 on; at 0 it is 0. */
function gainsOf(topK: number): { readonly gains: Float64Array; readonly sums: Float64Array } {
  const gains = new Float64Array(topK + 1);
  const sums = new Float64Array(topK + 1);
  for (let rank = 1; rank <= topK; rank++) {
    gains[rank] = log(2) / log(rank + 1);
    sums[rank] = sums[rank - 1]! + gains[rank]!;
  }
  return { gains, sums };
}

class Ranks {
  readonly #labels: Float32Array;
  readonly #records: NumberedKeys;
  readonly #topK: number;
  readonly #gains: Float64Array;
  /** DCG of the best order, by the number of positives. */
  readonly #best: Float64Array;
  /** Records and positives of the current group that rank above those with the last score. */
  #above = 0;
  #positives = 0;
  /** The score of the last record, as its key, and the records that have it. */
  #score = -1;
  #tied = 0;
  #tiedPositives = 0;
  /**
   * For the current group: the probability that no positive is among the first k, and the gain of the positives among
   * them.
   */
  #miss = 1;
  #gained = 0;
  /** Number of the groups that have ended, and their sums. */
  #groups = 0;
  #hitSum = 0;
  #ndcgSum = 0;

  constructor(labels: Float32Array, records: NumberedKeys, topK: number) {
    this.#labels = labels;
    this.#records = records;
    this.#topK = topK;
    const { gains, sums } = gainsOf(topK);
    this.#gains = gains;
    this.#best = sums;
  }

  /** Those of [from, to), the last one first; they go before what was counted until now. */
  count(from: number, to: number): void {
    const records = this.#records;
    const labels = this.#labels;
    for (let at = to - 1; at >= from; ) {
      const score = records[2 * at + 1]!;
      if (score !== this.#score) this.#endTies(score);
      const last = at;
      let positives = 0;
      for (; at >= from && records[2 * at + 1] === score; at--) if (labels[records[2 * at]!]! > 0.5) positives++;
      this.#tied += last - at;
      this.#tiedPositives += positives;
    }
  }

  /**
   * Among n tied records with p positives, each rank is expected to have p / n of its gain. The first m of them have no
   * positive with probability C(n − p, m) / C(n, m).
   */
  #endTies(score: number): void {
    const [above, tied, positives] = [this.#above, this.#tied, this.#tiedPositives];
    const places = Math.min(tied, this.#topK - above);
    if (positives > 0) {
      for (let place = 0; place < places; place++) {
        this.#gained += (positives / tied) * this.#gains[above + place + 1]!;
        this.#miss *= Math.max(tied - positives - place, 0) / (tied - place);
      }
    }
    this.#above += tied;
    this.#positives += positives;
    this.#tied = 0;
    this.#tiedPositives = 0;
    this.#score = score;
  }

  /** What is counted next is of another group. */
  endGroup(): void {
    this.#endTies(-1);
    if (this.#positives > 0) {
      this.#groups++;
      this.#hitSum += 1 - this.#miss;
      this.#ndcgSum += this.#gained / this.#best[Math.min(this.#positives, this.#topK)]!;
    }
    this.#above = 0;
    this.#positives = 0;
    this.#miss = 1;
    this.#gained = 0;
  }

  means(): Ranking | undefined {
    const groups = this.#groups;
    return groups === 0
      ? undefined
      : { hitRate: this.#hitSum / groups, ndcg: this.#ndcgSum / groups, topK: this.#topK };
  }
}
