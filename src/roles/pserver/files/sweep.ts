/** Removes files that a crash left in an index's folder, and parting snapshots that newer files replace. */
import { filesOfCut } from '../../../checkpoint/registry/cut.ts';
import { filesOfKept } from '../../../checkpoint/registry/kept-key.ts';
import { publishedFiles } from '../../../checkpoint/registry/newest.ts';
import { removeOrphans } from '../../../checkpoint/registry/orphans.ts';
import { type Parting, parsePartings } from '../../../checkpoint/registry/partings.ts';
import { readCheckpointKeys } from '../../../checkpoint/registry/read-keys.ts';
import { unreplacedShards } from '../../../checkpoint/registry/retention.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';
import { restingFiles } from './resting-files.ts';

export interface SweepOptions {
  readonly context: RoleContext;
  readonly record: { readonly id: string };
  readonly index: number;
  readonly fence: Fence;
  readonly folder: string;
}

/**
 * Removes all files of this index except those that the store names and the loaded ones. Another pserver may be about
 * to load a parting snapshot of this index, so the snapshot stays until newer files have all of its shards.
 */
export async function sweepOrphans(options: SweepOptions, loaded: readonly string[]): Promise<void> {
  const { context, record, index, fence, folder } = options;
  const { keys, host } = context;
  const { named, replaced } = await readNamed(options);
  const report = await removeOrphans({
    storage: host.storage,
    place: { folder, index },
    jobId: record.id,
    token: fence.token,
    // In sync mode, no entry names a loaded parting snapshot, which is the only file until the next checkpoint.
    published: new Set([...named, ...loaded]),
  });
  if (report.removed.length > 0) host.log.info(`removed ${report.removed.length} orphaned checkpoint files`);
  for (const key of keysOf(replaced, loaded)) {
    await retryStore(context, () => fencedTxn(context.store, fence, { then: [{ delete: key }] }));
    host.log.debug(`newer files have replaced the parting snapshot ${key.slice(keys.partingPrefix.length)}`);
  }
}

interface Named {
  readonly named: readonly string[];
  /** Parting snapshots of this index that newer files replace. */
  readonly replaced: readonly Parting[];
}

/** Keys of the snapshots that this pserver has not loaded any file of. */
function keysOf(replaced: readonly Parting[], loaded: readonly string[]): string[] {
  const kept = new Set(replaced.filter(({ generation }) => loaded.includes(generation.uuid)).map(({ key }) => key));
  return [...new Set(replaced.map(({ key }) => key))].filter((key) => !kept.has(key));
}

async function readNamed({ context, index }: SweepOptions): Promise<Named> {
  const { store, keys } = context;
  const range = (prefix: string) => retryStore(context, () => store.range({ prefix }));
  const { entries } = await range(keys.checkpointsPrefix);
  const { published, cut, kept } = readCheckpointKeys(keys, entries);
  const files = publishedFiles(published);
  const partings = parsePartings(keys.partingPrefix, (await range(keys.partingPrefix)).entries);
  // An owner that repeatedly loses its index saves only parting snapshots. So later snapshots count as replacements,
  // too; otherwise all of them would stay.
  const generations = [...files, ...partings].map(({ generation }) => generation);
  const isFileReplaced = ({ generation }: Parting): boolean => unreplacedShards(generation, generations)?.length === 0;
  const isReplaced = ({ key }: Parting): boolean => partings.filter((one) => one.key === key).every(isFileReplaced);
  const resting = await retryStore(context, () => restingFiles(context));
  return {
    named: [
      ...files.filter((file) => file.index === index).map(({ generation }) => generation.uuid),
      ...filesOfCut(cut.cut),
      ...filesOfKept(kept),
      ...partings.filter((parting) => !isReplaced(parting)).map(({ generation }) => generation.uuid),
      ...resting,
    ],
    replaced: partings.filter((parting) => parting.index === index && isReplaced(parting)),
  };
}
