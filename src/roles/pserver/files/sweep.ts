/** Removes files that a crash left in an index's folder. */
import { readEntry } from '../../../checkpoint/registry/entry.ts';
import { removeOrphans } from '../../../checkpoint/registry/orphans.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { Fence } from '../../../store/fence.ts';

export interface SweepOptions {
  readonly context: RoleContext;
  readonly record: { readonly id: string };
  readonly index: number;
  readonly fence: Fence;
  readonly folder: string;
}

/** Keeps the files that the index's entry names, and those that were loaded. */
export async function sweepOrphans(options: SweepOptions, loaded: readonly string[]): Promise<void> {
  const { context, record, index, fence, folder } = options;
  const { store, keys, host } = context;
  const { entry } = await retryStore(context, () => readEntry(store, keys.checkpoint(index)));
  // A parting snapshot of sync mode is in no entry, and the only file until the next checkpoint.
  const published = new Set<string>(loaded);
  if (entry !== undefined) for (const { uuid } of [entry, ...(entry.generations ?? [])]) published.add(uuid);
  const report = await removeOrphans({
    disk: host.disk,
    place: { folder, index },
    jobId: record.id,
    token: fence.token,
    published,
  });
  if (report.removed.length > 0) host.log.info(`removed ${report.removed.length} orphaned checkpoint files`);
}
