/** Computes how a shard stays within its bound when an update comes (docs/decisions/0168). */
import { afterEvictions, CANDIDATE_BYTES, candidateLimit } from './admission.ts';

/** What a shard has before the update. */
export interface HeldIds {
  readonly rows: number;
  readonly candidates: number;
}

/** Ids that the update names. */
export interface NamedIds {
  readonly rows: number;
  readonly newRows: number;
  /** Candidates that get a row. */
  readonly promoted: number;
  /** Candidates that stay candidates. */
  readonly counted: number;
  readonly newCandidates: number;
}

export interface Bound {
  readonly shardBytes: number;
  readonly rowBytes: number;
}

/** What the shard does first, in this order. Evictions take the least recent ids that the update does not name. */
export interface Room {
  readonly evictedCandidates: number;
  /** New candidates that are refused, the highest ids first. */
  readonly refusedCandidates: number;
  /** Bytes of rows and candidates to evict, at least. */
  readonly evictedBytes: number;
  /** Bytes of new rows and new candidates to refuse, at least, the highest ids first. */
  readonly refusedBytes: number;
}

/** Undefined: there is room for everything. */
export function roomFor(held: HeldIds, named: NamedIds, { shardBytes, rowBytes }: Bound): Room | undefined {
  const limit = candidateLimit(shardBytes);
  const unnamedCandidates = held.candidates - named.promoted - named.counted;
  // A promoted candidate counts: if its row is refused, it stays one.
  const wanted = held.candidates + named.newCandidates;
  const evictedCandidates = wanted > limit ? Math.min(unnamedCandidates, wanted - afterEvictions(limit)) : 0;
  const refusedCandidates = Math.max(0, wanted - evictedCandidates - limit);
  const candidates = wanted - evictedCandidates - refusedCandidates - named.promoted;
  const bytes = (held.rows + named.newRows + named.promoted) * rowBytes + candidates * CANDIDATE_BYTES;
  const unnamedRows = held.rows - named.rows;
  const unnamedBytes = unnamedRows * rowBytes + (unnamedCandidates - evictedCandidates) * CANDIDATE_BYTES;
  const evictedBytes = bytes > shardBytes ? Math.min(unnamedBytes, bytes - afterEvictions(shardBytes)) : 0;
  const refusedBytes = Math.max(0, bytes - evictedBytes - shardBytes);
  if (evictedCandidates + refusedCandidates + evictedBytes + refusedBytes === 0) return undefined;
  return { evictedCandidates, refusedCandidates, evictedBytes, refusedBytes };
}
