import { randomBytes } from 'node:crypto';

/**
 * An odd multiplier of 64 bits for a hash table in the kernels (`kernels/assembly/hash.ts`). Ids come from others, who
 * know all other hashes: with this one, no list of ids costs more than another, expected over what is drawn. It decides
 * where an entry is, never an answer.
 */
export const randomMultiplier = (): bigint => randomBytes(8).readBigUInt64LE() | 1n;
