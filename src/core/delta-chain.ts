/** Whether the next file of a pserver is a base, which has its shards whole, or a delta (docs/decisions/0168). */

export interface DeltaRules {
  /** A base is due so long after the last one. Infinity: only for the other reasons. */
  readonly baseIntervalMs: number;
  /** Deltas of this part of the bytes of their base may be on it. */
  readonly maxShare: number;
}

/** The last base that was published, and the deltas on it. */
export interface DeltaChain {
  readonly baseBytes: number;
  readonly baseMs: number;
  readonly deltas: number;
  readonly deltaBytes: number;
}

/** A loader reads all deltas of a chain, one after the other. */
export const MOST_DELTAS = 32;

export interface PublishedLink {
  readonly isDelta: boolean;
  readonly bytes: number;
}

/** `chain`: undefined before the first file of a process. */
export function isDeltaNext(chain: DeltaChain | undefined, rules: DeltaRules, nowMs: number): boolean {
  if (chain === undefined) return false;
  const { baseBytes, baseMs, deltas, deltaBytes } = chain;
  return deltas < MOST_DELTAS && deltaBytes <= rules.maxShare * baseBytes && nowMs - baseMs < rules.baseIntervalMs;
}

export function withLink(chain: DeltaChain | undefined, { isDelta, bytes }: PublishedLink, nowMs: number): DeltaChain {
  if (chain === undefined || !isDelta) return { baseBytes: bytes, baseMs: nowMs, deltas: 0, deltaBytes: 0 };
  return { ...chain, deltas: chain.deltas + 1, deltaBytes: chain.deltaBytes + bytes };
}
