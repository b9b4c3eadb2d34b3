/**
 * What a restore left for the pservers that start after it: the heads from before it count as those of its files
 * (src/checkpoint/swap.ts says why they were not rewritten).
 */
import { type RestoredRecord, restoredSchema } from '../../checkpoint/swap.ts';
import { plannedPrimary } from '../../core/placement.ts';
import { parseStoreValue } from '../../core/task-state.ts';
import type { KeyValue } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { type Head, parseHead } from '../heads.ts';
import { patiently } from '../ownership.ts';

export interface Restored {
  /** The head that counts, of a shard whose key is `entry`. */
  headOf(shard: number, entry: KeyValue | undefined): Head | undefined;
}

/** Read after the claim of an index: from then on no restore can happen. */
export async function readRestored(context: RoleContext): Promise<Restored> {
  const key = context.keys.restored;
  const found = await patiently(context, () => context.store.get(key));
  const record = found && parseStoreValue(restoredSchema, key, found.value);
  return {
    headOf(shard, entry) {
      const head = entry === undefined ? undefined : parseHead(entry.key, entry.value);
      if (found === undefined || record === undefined) return head;
      return entry !== undefined && entry.modRevision > found.modRevision ? head : restoredHead(shard, head, record);
    },
  };
}

function restoredHead(shard: number, head: Head | undefined, { token, pservers, epoch }: RestoredRecord): Head {
  const owner = { index: plannedPrimary(shard, pservers), token };
  return { epoch: Math.max(epoch, head?.epoch ?? 0, 1), primary: owner, inSync: [owner] };
}
