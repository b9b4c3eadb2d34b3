/**
 * Deletes what is left of a pserver that the job no longer wants: its files, and the keys of its index. Its files go
 * first, so that the keys tell what is left when the process dies in between.
 */

import { LIMITS } from '../../base/limits.ts';
import { checkpointPath, indexFolder } from '../../checkpoint/file/paths.ts';
import type { PublishedEntry } from '../../checkpoint/registry/discover.ts';
import { filesOfKept, type ReadKept } from '../../checkpoint/registry/kept-key.ts';
import { type Need, needOf } from '../../checkpoint/registry/needed.ts';
import { type PublishedFile, publishedFiles } from '../../checkpoint/registry/newest.ts';
import { type Parting, parsePartings } from '../../checkpoint/registry/partings.ts';
import { readCheckpointKeys } from '../../checkpoint/registry/read-keys.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Compare } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { parseHead } from './heads.ts';

export interface LeaveNothing {
  readonly context: RoleContext;
  /** Fence of the actor's claim. */
  readonly fence: Fence;
  /** What else must hold for the keys to be deleted. */
  readonly also?: readonly Compare[];
  readonly index: number;
  /** The job's checkpoint folder. */
  readonly folder: string;
  /** Ends waiting for the store. */
  readonly signal?: AbortSignal;
}

/** Why something of the pserver must stay. */
export type Left =
  | Need
  /** It is the primary of units. */
  | { readonly type: 'leads'; readonly units: readonly number[] }
  /** A file could not be deleted, or something changed at the same time: to be tried again. */
  | { readonly type: 'again'; readonly why: string };

/**
 * Undefined when nothing is left. The pserver must have handed over its units and take no others. Throws `LeaseGone`
 * when the actor's claim is another's by now.
 */
export async function leaveNothing(by: LeaveNothing): Promise<Left | undefined> {
  const { context, index } = by;
  const read = await readLeft(by);
  const kept = keptOf(index, read);
  if (kept !== undefined) return kept;
  const entryRevision = await announce(by, read);
  if (entryRevision === undefined) return CHANGED;
  const ofKept = filesOfKept(read.kept);
  const mine = [...read.files, ...read.partings].filter(
    (file) => file.index === index && !ofKept.has(file.generation.uuid),
  );
  const undeleted = await deleteFiles(by, mine);
  if (undeleted !== undefined) return { type: 'again', why: undeleted };
  if (!(await deleteKeys(by, { ...read, entryRevision }))) return CHANGED;
  context.host.log.info(`all keys and files of pserver ${index} are deleted`, { files: mine.length });
  return undefined;
}

/** Why something of the pserver is needed still: units that it leads, or its files. Undefined when nothing is. */
export async function neededOf(
  by: Pick<LeaveNothing, 'context' | 'index' | 'signal'>,
): Promise<Exclude<Left, { type: 'again' }> | undefined> {
  return keptOf(by.index, await readLeft(by));
}

function keptOf(
  index: number,
  read: Awaited<ReturnType<typeof readLeft>>,
): Exclude<Left, { type: 'again' }> | undefined {
  if (read.units.length > 0) return { type: 'leads', units: read.units };
  return needOf(index, read);
}

const CHANGED: Left = { type: 'again', why: 'the keys changed at the same time' };

async function readLeft({ context, index, signal }: Pick<LeaveNothing, 'context' | 'index' | 'signal'>) {
  const { store, keys } = context;
  const range = async (prefix: string) => (await retryStore(context, () => store.range({ prefix }), signal)).entries;
  const heads = await range(keys.headsPrefix);
  const led = heads.map(({ key, value }) => ({
    unit: Number(key.slice(keys.headsPrefix.length)),
    head: parseHead(key, value),
  }));
  const partings = parsePartings(keys.partingPrefix, await range(keys.partingPrefix));
  const entries = await range(keys.checkpointsPrefix);
  const { published, cut, kept } = readCheckpointKeys(keys, entries);
  return {
    units: led.filter(({ head }) => head.primary.index === index).map(({ unit }) => unit),
    resting: new Set(led.flatMap(({ head }) => head.rest?.uuid ?? [])),
    files: publishedFiles(published),
    partings,
    cut: cut.cut,
    cutRevision: cut.modRevision,
    kept,
    entry: published.find((one) => one.index === index),
    entryRevision: entries.find(({ key }) => key === keys.checkpoint(index))?.modRevision ?? 0n,
  };
}

/** Why one could not be deleted. Those that are not in the folder may be on the disk of another machine. */
async function deleteFiles(
  { context, folder, index }: LeaveNothing,
  files: readonly PublishedFile[],
): Promise<string | undefined> {
  for (const { generation } of files) {
    const path = checkpointPath({ folder, index }, generation.uuid);
    try {
      await context.host.storage.delete(path);
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error;
      return `${path} could not be deleted: ${error.message}`;
    }
  }
  await context.host.storage.delete(`${indexFolder({ folder, index })}/`);
  return undefined;
}

interface Read {
  readonly partings: readonly Parting[];
  readonly kept: ReadKept;
  readonly entry: PublishedEntry | undefined;
  readonly entryRevision: bigint;
  readonly cutRevision: bigint;
}

function unchanged({ context, index, also = [] }: LeaveNothing, { entryRevision, cutRevision, kept }: Read): Compare[] {
  const { keys } = context;
  return [
    ...also,
    { key: keys.checkpoint(index), modRevision: entryRevision },
    { key: keys.cut, modRevision: cutRevision },
    { key: keys.kept, modRevision: kept.modRevision },
  ];
}

/**
 * Writes into the entry that its files are being deleted, so that no model is kept of them from now on. Returns the
 * revision of the entry; undefined if an owner of the index has come since, or anything else has changed.
 */
async function announce(by: LeaveNothing, read: Read): Promise<bigint | undefined> {
  const { context, fence, index, signal } = by;
  const { store, keys } = context;
  const key = keys.checkpoint(index);
  const isToWrite = read.entry !== undefined && read.entry.entry.leaving !== true;
  const ops = isToWrite
    ? [{ put: key, value: JSON.stringify({ ...read.entry?.entry, leaving: true }) }]
    : [{ get: key }];
  const txn = { if: unchanged(by, read), then: ops };
  const { succeeded, revision } = await retryStore(context, () => fencedTxn(store, fence, txn), signal);
  if (!succeeded) return undefined;
  return isToWrite ? revision : read.entryRevision;
}

async function deleteKeys(by: LeaveNothing, read: Read): Promise<boolean> {
  const { context, fence, index, signal } = by;
  const { store, keys } = context;
  const mine = [...new Set(read.partings.filter((parting) => parting.index === index).map(({ key }) => key))];
  const deleted = [...mine, keys.pserver(index), keys.checkpoint(index)].slice(-LIMITS.storeTxnOps / 2);
  const txn = { if: unchanged(by, read), then: deleted.map((key) => ({ delete: key })) };
  const { succeeded } = await retryStore(context, () => fencedTxn(store, fence, txn), signal);
  return succeeded && deleted.length === mine.length + 2;
}
