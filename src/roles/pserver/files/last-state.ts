/** What an owner of shards saved last. */
import {
  type CheckpointEntry,
  type Generation,
  generationSchema,
  isClean,
  parseEntry,
} from '../../../checkpoint/registry/entry.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { Owner } from '../../../cluster/placement/heads.ts';
import { parseStoreValue } from '../../../core/tasks/state.ts';

export interface LastState {
  readonly entry: CheckpointEntry | undefined;
  /** The newest file has all that the owner ever applied. */
  readonly exact: boolean;
  /** Why the published entry cannot be used. */
  readonly complaint: string | undefined;
  /** The parting snapshot, when that is what the owner saved last. */
  readonly parting: Generation | undefined;
}

/** A parting snapshot, which an owner announces after it lost its index, has everything that this owner applied. */
export async function lastState(context: RoleContext, owner: Owner): Promise<LastState> {
  const { keys, store } = context;
  const partingKey = keys.parting(BigInt(owner.token));
  const key = keys.checkpoint(owner.index);
  const [parting, published] = await retryStore(context, () => Promise.all([store.get(partingKey), store.get(key)]));
  const { entry, complaint } = parseEntry(key, published);
  if (parting === undefined) {
    return { entry, complaint, exact: entry !== undefined && isClean(entry), parting };
  }
  const snapshot: Generation = parseStoreValue(generationSchema, partingKey, parting.value);
  const before = entry === undefined ? [] : [entry, ...(entry.generations ?? [])];
  const generations = before.map((one) => generationSchema.parse(one));
  return { entry: { ...snapshot, generations }, complaint, exact: true, parting: snapshot };
}
