/** The rules by which ids get rows, and the numbers of a bound (docs/decisions/0168). */
import { mix64 } from '../../base/mix64.ts';

/** `count`: the update that names an id for the `min`th time makes its row. `probability`: each update draws. */
export type Admission =
  | { readonly type: 'count'; readonly min: number }
  | { readonly type: 'probability'; readonly p: number };

export interface AdmissionRules {
  /** Absent: the first update that names an id makes its row. */
  readonly admission?: Admission | undefined;
  /** Bytes of rows and candidates that a shard of the table may have. Absent: as many as memory has room for. */
  readonly shardBytes?: number | undefined;
}

/** Name of an update. A repeated push has the name of the first. */
export type UpdateName =
  | { readonly pass: number; readonly task: number; readonly push: number }
  | { readonly round: number };

/** No `seen` is higher. */
export const HIGHEST_SEEN = 2 ** 32 - 2;

/** u64 id, u32 count, u32 `seen`. */
export const CANDIDATE_BYTES = 16;

/** Number of candidates that a shard may have: they take at most a quarter of its bytes. */
export const candidateLimit = (shardBytes: number): number => Math.floor(Math.floor(shardBytes / 4) / CANDIDATE_BYTES);

/** Evictions go down to this part of a limit, so that the next updates need none. */
export const afterEvictions = (limit: number): number => Math.floor((limit * 9) / 10);

/**
 * A shard may exceed its limits by this share while it is loaded from elsewhere, because each search for the least
 * recent rows reads all of them.
 */
export const LOADING_EXCESS = 1 / 16;

/** Philox's key and third counter word of the draws of an update. The other words are the id and 3. */
export interface Draw {
  readonly key: bigint;
  readonly word: number;
}

/** `tableKey`: `randomKey` of the table. The key is mix64(tableKey XOR mix64(pass × 2^32 + task)), or of the round. */
export function drawOf(tableKey: bigint, name: UpdateName): Draw {
  if ('round' in name) return { key: mix64(tableKey ^ mix64(BigInt(name.round))), word: 0 };
  return { key: mix64(tableKey ^ mix64((BigInt(name.pass) << 32n) | BigInt(name.task))), word: name.push };
}

/** A draw is a u32; it admits if it is below this number. */
export const chancesOf = (p: number): bigint => BigInt(Math.floor(p * 2 ** 32));

/** Index entries of 4 bytes, which are between 3/8 and 3/4 in use. */
const INDEX_BYTES_AT_MOST = 32 / 3;

/** New segments of rows are an eighth of the rows before them. */
const SEGMENT_SLACK = 9 / 8;

/**
 * Returns the most memory that a bounded table takes, as a multiple of its bound. A row takes a multiple of 8 bytes,
 * and up to 8/3 index entries. Candidates may take a quarter of the bound, and rows cannot use their memory later.
 */
export const memoryFactor = (rowBytes: number, hasCandidates: boolean): number => {
  const factorOf = (bytes: number): number => (SEGMENT_SLACK * 8 * Math.ceil(bytes / 8) + INDEX_BYTES_AT_MOST) / bytes;
  return factorOf(rowBytes) + (hasCandidates ? factorOf(CANDIDATE_BYTES) / 4 : 0);
};
