/** Files that heads name as the last state of a unit: each has what no other file has. */
import type { RoleContext } from '../../../cluster/context.ts';
import { parseHead } from '../../../cluster/placement/heads.ts';

/** Of all pservers: a unit that is led by another one may rest in a file of this one. Asks the store once. */
export async function restingFiles({ store, keys }: Pick<RoleContext, 'store' | 'keys'>): Promise<ReadonlySet<string>> {
  const { entries } = await store.range({ prefix: keys.headsPrefix });
  return new Set(entries.flatMap(({ key, value }) => parseHead(key, value).rest?.uuid ?? []));
}
