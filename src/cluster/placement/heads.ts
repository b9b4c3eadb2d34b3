/**
 * The head of a unit of shards: who holds it. One key a unit, changed only by `change-heads.ts` (docs/copies.md).
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { UUID_PATTERN } from '../../checkpoint/file/paths.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';

const count = z.int().min(0);
const token = z.string().regex(/^\d{1,20}$/);

/** Owners are named by index and fencing token: the next owner of the same index is another owner. */
const ownerSchema = z.strictObject({ index: count, token });
export type Owner = z.infer<typeof ownerSchema>;

const restSchema = z.strictObject({
  /** Index of the pserver whose file it is. */
  index: count.max(LIMITS.pservers - 1),
  uuid: z.string().regex(UUID_PATTERN),
});
export type Rest = z.infer<typeof restSchema>;

const headSchema = z.strictObject({
  /** Raised by 1 with each change of the head. If units have copies: only if the leader or the copies change. */
  epoch: z.int().min(1),
  /** The epoch with which this primary began to lead. */
  led: z.int().min(1),
  primary: ownerSchema,
  inSync: z.array(ownerSchema).min(1),
  /** The file that has all that was ever applied to the unit. Gone before anything is applied after it. */
  rest: restSchema.optional(),
});
export type Head = z.infer<typeof headSchema>;

export const parseHead = (key: string, value: string): Head => parseStoreValue(headSchema, key, value);

/**
 * Each of them has everything that was ever acknowledged of the unit, and takes the place of the primary when that
 * dies. After a clean stop a file counts, and only the primary that left it.
 */
export const countedOn = ({ primary, inSync, rest }: Pick<Head, 'primary' | 'inSync' | 'rest'>): Owner[] =>
  rest === undefined ? [primary, ...inSync.filter((member) => !sameOwner(member, primary))] : [primary];

export const isCountedOn = (head: Pick<Head, 'primary' | 'inSync' | 'rest'>, one: Owner): boolean =>
  countedOn(head).some((owner) => sameOwner(owner, one));

export const sameOwner = (a: Owner, b: Owner): boolean => a.index === b.index && a.token === b.token;

/** The head with which `owner` begins to lead, alone. `rest`: the file that it has loaded, when nothing is missing. */
export function takenBy(owner: Owner, before: Pick<Head, 'epoch'> | undefined, rest?: Rest): Head {
  const epoch = (before?.epoch ?? 0) + 1;
  return { epoch, led: epoch, primary: owner, inSync: [owner], ...(rest === undefined ? {} : { rest }) };
}
