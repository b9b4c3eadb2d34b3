/**
 * Decides what happens to a gradient by the age of the values it was computed from (docs/modes.md). A pserver
 * counts the updates it applied: that is the version of its shards, since every push advances each of them. Where units
 * get a push one after the other, it counts with the last of them: values may have more than their version says, never
 * less. Versions are compared only under one revision. The pserver gives one to both when units came and left in
 * between with all that was applied to them; not when units were loaded from a file, and therefore not across a
 * recovery number.
 */
export interface StalenessRule {
  /** The greatest staleness that is accepted as it is. */
  readonly bound: number;
  readonly policy: 'wait' | 'refuse' | 'scale';
}

/** The version at which values were pulled, and the revision under which it counts: of a placement stamp. */
export interface PulledVersion {
  readonly revision: string;
  readonly version: number;
}

export type StalenessVerdict =
  /** `staleness` is undefined when no values of this pserver were used or the versions cannot be compared. */
  | { readonly outcome: 'apply'; readonly staleness: number | undefined; readonly rateScale: number }
  | { readonly outcome: 'refuse'; readonly staleness: number | undefined };

export function judgeStaleness(
  rule: StalenessRule | undefined,
  now: PulledVersion,
  used: PulledVersion | undefined,
): StalenessVerdict {
  if (used === undefined) return { outcome: 'apply', staleness: undefined, rateScale: 1 };
  const isComparable = used.revision === now.revision && used.version <= now.version;
  const staleness = isComparable ? now.version - used.version : undefined;
  if (rule === undefined || rule.policy === 'wait') return { outcome: 'apply', staleness, rateScale: 1 };
  // Computed from shards in another state than these: its age is unknown.
  if (staleness === undefined) return { outcome: 'refuse', staleness };
  if (rule.policy === 'scale') return { outcome: 'apply', staleness, rateScale: rateScaleOf(staleness, rule.bound) };
  return staleness > rule.bound ? { outcome: 'refuse', staleness } : { outcome: 'apply', staleness, rateScale: 1 };
}

/**
 * The factor for the learning rate: 1 / (1 + staleness − bound) beyond the bound. With a bound of 1 this is the α / τ
 * of Zhang, Gupta, Lian & Liu, "Staleness-aware Async-SGD for Distributed Deep Learning" (IJCAI 2016). It depends on
 * two whole numbers only, so every copy of a shard computes the same factor.
 */
export const rateScaleOf = (staleness: number, bound: number): number => 1 / (1 + Math.max(0, staleness - bound));
