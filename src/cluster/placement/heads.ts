/** The head of a shard: who holds it. One key per shard; each change is one small transaction (DESIGN §7). */
import * as z from 'zod';
import { parseStoreValue } from '../../core/tasks/state.ts';

const count = z.int().min(0);
const token = z.string().regex(/^\d{1,20}$/);

/** Owners are named by index and fencing token: the next owner of the same index is another owner. */
const ownerSchema = z.strictObject({ index: count, token });
export type Owner = z.infer<typeof ownerSchema>;

const headSchema = z.strictObject({
  /** Raised by each change of primary. */
  epoch: z.int().min(1),
  primary: ownerSchema,
  inSync: z.array(ownerSchema).min(1),
});
export type Head = z.infer<typeof headSchema>;

export const parseHead = (key: string, value: string): Head => parseStoreValue(headSchema, key, value);

export const sameOwner = (a: Owner, b: Owner): boolean => a.index === b.index && a.token === b.token;

/** The seed's `/pshards/<shard>/<replica>` value. Times in seconds since 1970. */
export interface ReplicaRecord {
  readonly id: number;
  readonly shardid: number;
  readonly created: number;
  readonly modified: number;
  readonly status: 'master' | 'backup';
  readonly pserver: number;
  readonly epoch: number;
}
