/**
 * Makes restored files the job's checkpoints, in one transaction that requires that no pserver is alive: a pserver that
 * starts sees all of it or nothing.
 *
 * The heads of the units may be too many for one transaction and stay as they are.
 * Instead, `/restored` says: a head that was written before this key counts as one of owner (index, token), where
 * `index` is that of the file with the unit, and `token` was never the token of an owner.
 */
import * as z from 'zod';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Storage } from '../../base/seams.ts';
import type { Keys } from '../../store/keys.ts';
import { settle } from '../../store/retry-transaction.ts';
import type { Compare, Op, Store } from '../../store/store.ts';
import { UUID_PATTERN } from '../file/paths.ts';
import { type Cut, filesOfCut, parseCut } from './cut.ts';
import { parseEntries } from './discover.ts';
import { type CheckpointEntry, type Generation, generationsOf } from './entry.ts';
import { parsePartings } from './partings.ts';
import { pserversLive, type QuietJob, type RestoreAccess } from './quiet-job.ts';
import { readCheckpointKeys } from './read-keys.ts';

/** The value of `/restored`. */
export const restoredSchema = z.object({
  /** Fencing token that the files carry. */
  token: z.string().regex(/^\d{1,20}$/),
  /** Pservers that the units were distributed to: unit u is in the file of index `plannedPrimary(u, pservers)`. */
  pservers: z.int().min(1).max(LIMITS.pservers),
  /** The highest epoch in the files. */
  epoch: z.int().min(0),
  /** Sync mode: names of the files, by index. The state of the job is what they have, and nothing is missing. */
  files: z.array(z.string().regex(UUID_PATTERN)).max(LIMITS.pservers).optional(),
  /** Seconds since 1970. */
  timestamp: z.number(),
});
export type RestoredRecord = z.infer<typeof restoredSchema>;

export interface PublishRestoredOptions extends RestoreAccess {
  readonly quiet: QuietJob;
  /** By new index. Those of a job in sync mode have a round: they become its cut. */
  readonly generations: readonly Generation[];
  /** Indexes that led units. */
  readonly led: readonly number[];
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** How long the store is waited for. */
  readonly limitMs?: number;
}

/**
 * Publishes all or nothing. Throws `JobConflict` when a pserver started since the store was read, or anything else of
 * what was read has changed; `Usage` for more pservers than a transaction has room for; `Interrupted` when aborted
 * while the store is unreachable; the store's own errors, after `limitMs` also that it is unreachable.
 * `details.isDoubtful` says that it may have happened, or may yet: then the files must stay.
 */
export async function publishRestored(options: PublishRestoredOptions): Promise<void> {
  const { store, keys, quiet, generations } = options;
  const { compares, ops } = transactionOf(options);
  if (compares.length > LIMITS.storeTxnOps || ops.length > LIMITS.storeTxnOps) {
    throw new PaddletError(
      'Usage',
      `a restore to ${generations.length} pservers needs more operations than one store transaction allows`,
      {
        hint: 'restore from at most 60 pservers to at most 60, or only write the files: --no-publish --to FOLDER',
      },
    );
  }
  let isDoubtful = false;
  try {
    const { succeeded } = await settle({
      ...options,
      run: () => store.txn({ if: compares, then: ops }),
      // Pservers that start at once write in their entries; this key is written by restores alone.
      happened: async () => (await store.get(keys.restored))?.value === restoredText(options),
      onWaiting: (error) => {
        isDoubtful ||= error.code === 'StoreUnknownOutcome';
        options.onWaiting?.(error);
      },
    });
    if (succeeded) return;
    // An abandoned attempt can land after a pserver has come and gone, but not once a key was written again.
    isDoubtful &&= await isAsRead(options, compares);
    const { entries: live } = await store.range({ prefix: keys.psPrefix });
    if (live.length > 0) throw pserversLive(live);
    throw new PaddletError('JobConflict', `${quiet.job.key}: the job's checkpoints have changed since they were read`, {
      hint: isDoubtful
        ? 'the store did not confirm the new files: check with `paddlet checkpoint ls` whether they were published'
        : 'another process changed the job at the same time, so paddlet published nothing; run the command again',
    });
  } catch (error) {
    throw isDoubtful && isPaddletError(error) ? doubtful(error) : error;
  }
}

async function isAsRead({ store, keys }: PublishRestoredOptions, compares: readonly Compare[]): Promise<boolean> {
  const lasting = compares.filter((compare) => 'modRevision' in compare);
  return (await store.txn({ if: lasting, then: [{ get: keys.job }] })).succeeded;
}

const doubtful = (error: PaddletError): PaddletError =>
  new PaddletError(error.code, error.message, {
    details: { ...error.details, isDoubtful: true },
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });

/**
 * After `publishRestored` threw `error`: removes the new files, unless they are published or may still be. A pserver
 * that starts there removes as orphans those that stay unpublished.
 */
export async function discardUnpublished(
  error: unknown,
  {
    storage,
    store,
    keys,
    files,
  }: Pick<RestoreAccess, 'store' | 'keys'> & { readonly storage: Storage; readonly files: NewFiles },
): Promise<void> {
  if (isPaddletError(error) && error.details.isDoubtful === true) return;
  let named: ReadonlySet<string>;
  try {
    named = await publishedNames(store, keys);
  } catch (unread) {
    if (isPaddletError(unread)) return;
    throw unread;
  }
  for (const [index, { uuid }] of files.generations.entries()) {
    if (!named.has(uuid)) await storage.delete(files.paths[index]!);
  }
}

/** The new files; lists are indexed by new index. */
interface NewFiles {
  readonly generations: readonly Generation[];
  readonly paths: readonly string[];
}

async function publishedNames(store: Store, keys: Keys): Promise<Set<string>> {
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  const files = parseEntries(keys.checkpointsPrefix, entries).flatMap(({ entry }) => generationsOf(entry));
  const { cut } = readCheckpointKeys(keys, entries).cut;
  return new Set([...files.map(({ uuid }) => uuid), ...filesOfCut(cut)]);
}

const entryText = (generation: Generation): string => {
  const entry: CheckpointEntry = { ...generation, keep: 0, generations: [] };
  return JSON.stringify(entry);
};

/** The timeline that the files of a job in sync mode must carry: pservers load them without going back further. */
export const restoredTimeline = ({ cut }: QuietJob, keys: Keys): number => parseCut(keys.cut, cut).cut.timeline + 1;

function cutOf({ quiet, keys, generations }: PublishRestoredOptions): Op[] {
  const round = generations[0]?.round;
  if (round === undefined) return [];
  const files = generations.map(({ uuid, md5 }, index) => ({ index, uuid, md5 }));
  const cut: Cut = { timeline: restoredTimeline(quiet, keys), round, files };
  return [{ put: keys.cut, value: JSON.stringify(cut) }];
}

function restoredText({ quiet, generations, timestamp }: PublishRestoredOptions): string {
  const epochs = generations.flatMap(({ shards }) => shards?.map(({ epoch }) => epoch) ?? []);
  const restored: RestoredRecord = {
    token: quiet.token.toString(),
    pservers: generations.length,
    epoch: epochs.reduce((most, epoch) => Math.max(most, epoch), 0),
    ...(generations[0]?.round === undefined ? {} : { files: generations.map(({ uuid }) => uuid) }),
    timestamp,
  };
  return JSON.stringify(restored);
}

/** Indexes that the job wants, and those that a pserver may claim as units or files of it are needed. */
function claimable({ keys, quiet, generations, led }: PublishRestoredOptions): ReadonlySet<number> {
  const wanted = Math.max(generations.length, Number(quiet.desired?.value ?? 0));
  return new Set([
    ...Array.from({ length: wanted }, (_, index) => index),
    ...led,
    ...parseEntries(keys.checkpointsPrefix, quiet.entries).map(({ index }) => index),
    ...parsePartings(keys.partingPrefix, quiet.partings).map(({ index }) => index),
  ]);
}

function transactionOf(options: PublishRestoredOptions): { compares: Compare[]; ops: Op[] } {
  const { keys, quiet, generations } = options;
  const pservers = generations.length;
  const known = new Map(quiet.entries.map((entry) => [entry.key, entry.modRevision]));
  const compares: Compare[] = [
    { key: keys.job, modRevision: quiet.job.modRevision },
    { key: keys.psDesired, modRevision: quiet.desired?.modRevision ?? 0n },
    ...[...claimable(options)].map((index) => ({ key: keys.ps(index), createRevision: 0n })),
    { key: keys.cut, modRevision: quiet.cut?.modRevision ?? 0n },
    { key: keys.kept, modRevision: quiet.kept?.modRevision ?? 0n },
    ...[...known].map(([key, modRevision]) => ({ key, modRevision })),
    ...Array.from({ length: pservers }, (_, index) => keys.checkpoint(index))
      .filter((key) => !known.has(key))
      .map((key) => ({ key, modRevision: 0n })),
  ];
  const fresh = new Set(generations.map((_, index) => keys.checkpoint(index)));
  const ops: Op[] = [
    ...generations.map((generation, index) => ({ put: keys.checkpoint(index), value: entryText(generation) })),
    ...[...known.keys()].filter((key) => !fresh.has(key)).map((key) => ({ delete: key })),
    ...cutOf(options),
    { put: keys.psDesired, value: String(pservers) },
    { put: keys.restored, value: restoredText(options) },
    // An older snapshot would pass for the last state of its shards.
    { deletePrefix: keys.partingPrefix },
    // What the pservers reported about themselves; none of them lives.
    { deletePrefix: keys.pserversPrefix },
  ];
  return { compares, ops };
}
