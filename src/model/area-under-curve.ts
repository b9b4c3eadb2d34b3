/**
 * Area under the ROC curve as the Mann-Whitney statistic: the share of (positive, negative) pairs in which the positive
 * scores higher; ties count ½, and a pair as much as the product of its weights. Exact, by one sort. A label above 0.5
 * is positive.
 */
import { inPieces, type Steps } from '../base/steps.ts';
import type { GroupedRecords } from './groups.ts';
import type { ScoredRecords } from './model.ts';
import type { NumberedKeys } from './radix-sort.ts';

/** `records`: in ascending order of scores. */
export function* areaUnderCurve(scored: ScoredRecords, records: NumberedKeys): Steps<number | undefined> {
  const pairs = new Pairs(scored, records);
  yield* inPieces(scored.scores.length, (from, to) => pairs.count(from, to));
  return pairs.end().area;
}

export function* meanAreaOfGroups(scored: ScoredRecords, { records, ends }: GroupedRecords): Steps<number | undefined> {
  const pairs = new Pairs(scored, records);
  let sum = 0;
  let total = 0;
  let group = 0;
  yield* inPieces(records.length / 2, (from, to) => {
    for (let at = from; at < to; ) {
      const end = ends[group]!;
      pairs.count(at, Math.min(end, to));
      at = Math.min(end, to);
      if (at < end) return;
      group++;
      const { area, weight } = pairs.end();
      if (area === undefined) continue;
      sum += weight * area;
      total += weight;
    }
  });
  return total === 0 ? undefined : sum / total;
}

/** Counts the pairs of records that come in the order of their scores, group after group. */
class Pairs {
  readonly #scored: ScoredRecords;
  readonly #records: NumberedKeys;
  /** Below the last score: the weight of the pairs that a positive wins, of positives, and of negatives. */
  #wins = 0;
  #positives = 0;
  #negatives = 0;
  /** The score of the last record, as its key, and the weight of those that have it. */
  #score = -1;
  #tiedPositives = 0;
  #tiedNegatives = 0;

  constructor(scored: ScoredRecords, records: NumberedKeys) {
    this.#scored = scored;
    this.#records = records;
  }

  /** Those of [from, to), which follow what was counted before. */
  count(from: number, to: number): void {
    const records = this.#records;
    const { labels, weights } = this.#scored;
    for (let at = from; at < to; ) {
      const score = records[2 * at + 1]!;
      if (score !== this.#score) this.#endTies(score);
      let tiedPositives = this.#tiedPositives;
      let tiedNegatives = this.#tiedNegatives;
      for (; at < to && records[2 * at + 1] === score; at++) {
        const record = records[2 * at]!;
        const weight = weights === undefined ? 1 : weights[record]!;
        if (labels[record]! > 0.5) tiedPositives += weight;
        else tiedNegatives += weight;
      }
      this.#tiedPositives = tiedPositives;
      this.#tiedNegatives = tiedNegatives;
    }
  }

  #endTies(score: number): void {
    this.#wins += this.#tiedPositives * (this.#negatives + this.#tiedNegatives / 2);
    this.#positives += this.#tiedPositives;
    this.#negatives += this.#tiedNegatives;
    this.#tiedPositives = 0;
    this.#tiedNegatives = 0;
    this.#score = score;
  }

  /** Ends a group: the area of all records since the previous end. Records counted later belong to another group. */
  end(): { readonly area: number | undefined; readonly weight: number } {
    this.#endTies(-1);
    const [wins, positives, negatives] = [this.#wins, this.#positives, this.#negatives];
    this.#wins = 0;
    this.#positives = 0;
    this.#negatives = 0;
    const area = positives === 0 || negatives === 0 ? undefined : wins / (positives * negatives);
    return { area, weight: positives + negatives };
  }
}
