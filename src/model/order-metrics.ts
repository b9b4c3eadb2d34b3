/** Metrics of the order that scores put records in, of which there is one sort for all. */
import { assert } from '../base/assert.ts';
import { inPieces, type Steps } from '../base/steps.ts';
import { areaUnderCurve, meanAreaOfGroups } from './area-under-curve.ts';
import { recordsByGroup } from './groups.ts';
import type { ScoredRecords } from './model.ts';
import { type NumberedKeys, sortedByKey } from './radix-sort.ts';
import { type Ranking, rankingOf } from './ranking.ts';

export interface OrderMetrics extends Partial<Ranking> {
  /** Area under the curve of all records. Absent if a label does not occur, or if its records have no weight. */
  readonly auc?: number;
  /**
   * The mean of the areas of all groups that have both kinds, each as much as its records weigh (Zhou et al., Deep
   * Interest Network, KDD 2018, §6.3). Absent when no group has both. Records without a group do not count.
   */
  readonly groupedAuc?: number;
}

/** `topK`: of how many records of a group the ranking is judged. */
export function* orderMetrics(scored: ScoredRecords, topK: number): Steps<OrderMetrics> {
  const records = yield* byScore(scored);
  const auc = yield* areaUnderCurve(scored, records);
  const ofGroups = scored.groups && (yield* groupMetrics(scored, records, scored.groups, topK));
  return { ...(auc === undefined ? {} : { auc }), ...ofGroups };
}

function* groupMetrics(
  scored: ScoredRecords,
  records: NumberedKeys,
  groups: Uint8Array,
  topK: number,
): Steps<OrderMetrics> {
  const grouped = yield* recordsByGroup(records, groups, scored.weights);
  const groupedAuc = yield* meanAreaOfGroups(scored, grouped);
  const ranking = yield* rankingOf(scored.labels, grouped, topK);
  return { ...(groupedAuc === undefined ? {} : { groupedAuc }), ...ranking };
}

const SIGN = 0x80000000;
const MOST_U32 = 0xffffffff;

/** Numbers of records, each with its score as a number of the same order. */
function* byScore({ scores, labels, weights }: ScoredRecords): Steps<NumberedKeys> {
  assert(scores.length === labels.length && (weights?.length ?? scores.length) === scores.length, 'a score a label');
  const pairs = new Uint32Array(2 * scores.length);
  const bits = new Uint32Array(scores.buffer, scores.byteOffset, scores.length);
  yield* inPieces(scores.length, (from, to) => {
    for (let at = from; at < to; at++) {
      assert(!Number.isNaN(scores[at]!), 'scores are numbers');
      const pattern = bits[at]!;
      pairs[2 * at] = at;
      // −0 and 0 tie.
      pairs[2 * at + 1] = pattern > SIGN ? MOST_U32 - pattern : (pattern | SIGN) >>> 0;
    }
  });
  return yield* sortedByKey(pairs);
}
