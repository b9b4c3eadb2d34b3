/** Counts the ids of a category or of features, and those that another file does not have. */
import { DistinctValues, hashOfId } from './distinct.ts';

const ID_BITS = 64;

/** Number of features that could be looked up in another file, and of those whose id is missing there. */
export interface NewIds {
  readonly known: number;
  readonly features: number;
}

export class IdProfile {
  readonly distinct: DistinctValues;
  readonly #first: DistinctValues | undefined;
  readonly newIds = { known: 0, features: 0 };

  /** `kept`: maximum number of hashes to keep for the count. `first`: ids of another file. */
  constructor(kept: number, first?: DistinctValues) {
    this.distinct = new DistinctValues(kept);
    this.#first = first;
  }

  add(low: number, high: number): void {
    const hash = hashOfId(low, high);
    this.distinct.add(hash);
    if (this.#first?.covers(hash) !== true) return;
    this.newIds.known += 1;
    if (!this.#first.has(hash)) this.newIds.features += 1;
  }
}

export interface Collisions {
  /** Expected pairs of values with the same id of 64 bits; 0 where ids are the whole numbers themselves. */
  readonly collisions: number;
  /** With buckets: the expected share of the values that share theirs with another one. */
  readonly sharing: number | undefined;
}

/** Expected collisions of ids that are spread evenly. */
export function collisionsOf(values: number, isHashed: boolean, buckets: number | undefined): Collisions {
  const others = Math.max(0, values - 1);
  // 1 - (1 - 1/N)^others, which keeps its digits where N is large.
  const sharing = buckets === undefined || others === 0 ? 0 : -Math.expm1(others * Math.log1p(-1 / buckets));
  return {
    collisions: isHashed ? (values * others) / 2 ** (ID_BITS + 1) : 0,
    sharing: buckets === undefined ? undefined : sharing,
  };
}
