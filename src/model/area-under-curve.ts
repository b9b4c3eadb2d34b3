/**
 * Area under the ROC curve as the Mann-Whitney statistic: the share of (positive, negative) pairs in which the positive
 * scores higher; ties count ½, and a pair as much as the product of its weights. Exact, by one sort. A label above 0.5
 * is positive.
 */
import { assert } from '../base/assert.ts';
import { createIdDictionary } from '../base/id-dictionary.ts';
import type { ScoredRecords } from './model.ts';

/** Of all records. Undefined without both kinds, or if those of one kind have no weight. */
export const areaUnderCurve = (scored: Omit<ScoredRecords, 'groups'>): number | undefined =>
  areaOf(pairsIn(scored, byScore(scored), 0, scored.scores.length));

/**
 * The mean of the areas of all groups that have both kinds, each as much as its records weigh (Zhou et al., Deep
 * Interest Network, KDD 2018, §6.3). Undefined when no group has both. Records without a group do not count.
 */
export function groupedAuc(scored: ScoredRecords): number | undefined {
  if (scored.groups === undefined) return undefined;
  const { records, ends } = byGroup(byScore(scored), scored.groups);
  let sum = 0;
  let total = 0;
  let from = 0;
  for (const end of ends) {
    const pairs = pairsIn(scored, records, from, end);
    const area = areaOf(pairs);
    from = end;
    if (area === undefined) continue;
    const weight = pairs.positives + pairs.negatives;
    sum += weight * area;
    total += weight;
  }
  return total === 0 ? undefined : sum / total;
}

/** The weight of positives and negatives, and that of the pairs that a positive wins. */
interface Pairs {
  readonly wins: number;
  readonly positives: number;
  readonly negatives: number;
}

const areaOf = ({ wins, positives, negatives }: Pairs): number | undefined =>
  positives === 0 || negatives === 0 ? undefined : wins / (positives * negatives);

const MOST_U32 = 0xffffffff;

/** u64 little-endian as pairs of u32: the number of a record, and its score as a number of the same order. */
type SortedRecords = Uint32Array;

/** In ascending order of scores. Sorted as numbers: a function that compares takes far longer. */
function byScore({ scores, labels, weights }: Omit<ScoredRecords, 'groups'>): SortedRecords {
  assert(scores.length === labels.length && (weights?.length ?? scores.length) === scores.length, 'a score a label');
  const keys = new BigUint64Array(scores.length);
  const halves = new Uint32Array(keys.buffer);
  // Adding 0 turns -0 into 0: they tie.
  const bits = new Uint32Array(scores.map((score) => score + 0).buffer);
  for (let at = 0; at < scores.length; at++) {
    assert(!Number.isNaN(scores[at]!), 'scores are numbers');
    const pattern = bits[at]!;
    halves[2 * at] = at;
    halves[2 * at + 1] = pattern >= 0x80000000 ? MOST_U32 - pattern : pattern + 0x80000000;
  }
  keys.sort();
  return halves;
}

/** The records of [from, to), which are in the order of their scores. */
function pairsIn(
  { labels, weights }: Omit<ScoredRecords, 'groups'>,
  records: SortedRecords,
  from: number,
  to: number,
): Pairs {
  let wins = 0;
  let positives = 0;
  let negatives = 0;
  for (let at = from; at < to; ) {
    const score = records[2 * at + 1]!;
    let tiedPositives = 0;
    let tiedNegatives = 0;
    for (; at < to && records[2 * at + 1] === score; at++) {
      const record = records[2 * at]!;
      const weight = weights === undefined ? 1 : weights[record]!;
      if (labels[record]! > 0.5) tiedPositives += weight;
      else tiedNegatives += weight;
    }
    wins += tiedPositives * (negatives + tiedNegatives / 2);
    positives += tiedPositives;
    negatives += tiedNegatives;
  }
  return { wins, positives, negatives };
}

/** Those of each group together, groups in order of first appearance; in a group they keep their order. */
function byGroup(records: SortedRecords, groups: Uint8Array): { records: SortedRecords; ends: Uint32Array } {
  const ids = new Uint32Array(groups.buffer, groups.byteOffset, groups.length / 4);
  const dictionary = createIdDictionary();
  const numbers = new Int32Array(ids.length / 2).fill(-1);
  for (let at = 0; at < numbers.length; at++) {
    const [low, high] = [ids[2 * at]!, ids[2 * at + 1]!];
    // `NO_GROUP` has all bits.
    if (low !== MOST_U32 || high !== MOST_U32) numbers[at] = dictionary.indexOf(low, high);
  }
  const ends = new Uint32Array(dictionary.size);
  for (const number of numbers) if (number >= 0) ends[number]! += 1;
  let before = 0;
  for (let group = 0; group < ends.length; group++) {
    const count = ends[group]!;
    ends[group] = before;
    before += count;
  }
  const grouped = new Uint32Array(2 * before);
  for (let at = 0; at < records.length; at += 2) {
    const number = numbers[records[at]!]!;
    if (number < 0) continue;
    const place = ends[number]!++;
    grouped[2 * place] = records[at]!;
    grouped[2 * place + 1] = records[at + 1]!;
  }
  return { records: grouped, ends };
}
