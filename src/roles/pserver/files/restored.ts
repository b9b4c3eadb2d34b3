/**
 * Reads the record of a restore. For pservers that start after it, heads from before the restore count as heads that
 * name the restored files (src/checkpoint/registry/publish-restored.ts says why the heads were not rewritten).
 */
import { type RestoredRecord, restoredSchema } from '../../../checkpoint/registry/publish-restored.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { type Head, parseHead } from '../../../cluster/placement/heads.ts';
import { plannedPrimary } from '../../../core/placement.ts';
import { parseStoreValue } from '../../../core/tasks/state.ts';
import type { KeyValue } from '../../../store/store.ts';

export interface Restored {
  /** The valid head of a unit whose head key has the value `entry`. */
  headOf(unit: number, entry: KeyValue | undefined): Head | undefined;
}

/** Call this only after this process has claimed an index: from then on, a restore is impossible. */
export async function readRestored(context: RoleContext): Promise<Restored> {
  const key = context.keys.restored;
  const found = await retryStore(context, () => context.store.get(key));
  const record = found && parseStoreValue(restoredSchema, key, found.value);
  return {
    headOf(unit, entry) {
      const head = entry === undefined ? undefined : parseHead(entry.key, entry.value);
      if (found === undefined || record === undefined) return head;
      return entry !== undefined && entry.modRevision > found.modRevision ? head : restoredHead(unit, head, record);
    },
  };
}

function restoredHead(unit: number, head: Head | undefined, record: RestoredRecord): Head {
  const { token, pservers, epoch, files } = record;
  const owner = { index: plannedPrimary(unit, pservers), token };
  const highest = Math.max(epoch, head?.epoch ?? 0, 1);
  const uuid = files?.[owner.index];
  const rest = uuid === undefined ? {} : { rest: { index: owner.index, uuid } };
  return { epoch: highest, led: highest, primary: owner, inSync: [owner], ...rest };
}
