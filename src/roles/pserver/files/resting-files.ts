/** The files that heads name as the last state of a unit. They must be kept: no other file may have that state. */
import type { RoleContext } from '../../../cluster/context.ts';
import { parseHead } from '../../../cluster/placement/heads.ts';

/** Reads the heads of all pservers, since the last state of another's unit may be in a file of this pserver. */
export async function restingFiles({ store, keys }: Pick<RoleContext, 'store' | 'keys'>): Promise<ReadonlySet<string>> {
  const { entries } = await store.range({ prefix: keys.headsPrefix });
  return new Set(entries.flatMap(({ key, value }) => parseHead(key, value).rest?.uuid ?? []));
}
