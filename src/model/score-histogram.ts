/**
 * The area under the ROC curve of more records than are kept: their scores are counted in bins by the upper bits of
 * their f32 patterns, whose order is that of the scores. Pairs within a bin count ½, so the area is off by ½ for each
 * of them at most, which is the bound.
 *
 * Counts are exact. So are sums of weights that are multiples of 2^−k while no bin has 2^(53 − k) or more: of weights
 * from 1/64 on, whose f32 are multiples of 2^−29, up to 16 million a bin. Then no figure depends on the order in which
 * records are added; with smaller weights the last digits may.
 */
import { assert } from '../base/assert.ts';
import type { ScoredRecords } from './model.ts';

/** Leaves 13 bits of the fraction: 8192 bins between 0.25 and 0.5, or between 1/128 and 1/64. */
const DROPPED_BITS = 10;
/** Bin of the score 1. */
const LAST_BIN = 0x3f800000 >>> DROPPED_BITS;

export interface BoundedArea {
  readonly auc: number;
  /** Maximum error of `auc`. */
  readonly aucBound: number;
}

export class ScoreHistogram {
  /** Weights of negatives at 2n, of positives at 2n + 1. 17 MB. */
  readonly #weights = new Float64Array(2 * (LAST_BIN + 1));

  /** Scores are from 0 to 1. */
  add({ scores, labels, weights }: ScoredRecords): void {
    const bits = new Uint32Array(scores.buffer, scores.byteOffset, scores.length);
    const sums = this.#weights;
    for (let at = 0; at < scores.length; at++) {
      // Without the sign: −0 is 0.
      const bin = (bits[at]! & 0x7fffffff) >>> DROPPED_BITS;
      assert(bin <= LAST_BIN, 'scores are from 0 to 1');
      sums[2 * bin + (labels[at]! > 0.5 ? 1 : 0)]! += weights === undefined ? 1 : weights[at]!;
    }
  }

  /** Undefined without both kinds, or if those of one kind have no weight. */
  area(): BoundedArea | undefined {
    let wins = 0;
    let halfTies = 0;
    let positives = 0;
    let negatives = 0;
    for (let at = 0; at < this.#weights.length; at += 2) {
      const [ofNegatives, ofPositives] = [this.#weights[at]!, this.#weights[at + 1]!];
      wins += ofPositives * negatives;
      halfTies += (ofPositives * ofNegatives) / 2;
      positives += ofPositives;
      negatives += ofNegatives;
    }
    if (positives === 0 || negatives === 0) return undefined;
    const pairs = positives * negatives;
    return { auc: (wins + halfTies) / pairs, aucBound: halfTies / pairs };
  }
}
