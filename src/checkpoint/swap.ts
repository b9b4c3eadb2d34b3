/**
 * Makes restored files the job's checkpoints: in one transaction that shows that no pserver lives, so that a pserver that
 * starts sees all of it or nothing.
 *
 * The heads of the shards (one key each, thousands of them) do not fit into one transaction and stay as they are. In their
 * stead `/restored` says: a head that was written before this key counts as one of owner (index, token), where `index` is
 * that of the file with the shard, and `token` is that of nobody who ever lived.
 */
import * as z from 'zod';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { pause } from '../store/backoff.ts';
import type { Keys } from '../store/keys.ts';
import { settle } from '../store/settle.ts';
import type { Compare, KeyValue, Op } from '../store/store.ts';
import { type Cut, parseCut } from './cut.ts';
import type { CheckpointEntry, Generation } from './entry.ts';
import type { StoreAccess } from './publish.ts';

/** The value of `/restored`. */
export const restoredSchema = z.object({
  /** Fencing token that the files carry. */
  token: z.string().regex(/^\d{1,20}$/),
  /** Pservers that the shards were dealt to: shard s is in the file of index `plannedPrimary(s, pservers)`. */
  pservers: z.int().min(1).max(LIMITS.pservers),
  /** The highest epoch in the files. */
  epoch: z.int().min(0),
  /** Seconds since 1970. */
  timestamp: z.number(),
});
export type RestoredRecord = z.infer<typeof restoredSchema>;

export interface SwapAccess extends StoreAccess {
  readonly keys: Keys;
}

/** How the store stood when no pserver lived. */
export interface QuietJob {
  /** A revision at which no pserver lived: no owner has, had or will have it as its token. */
  readonly token: bigint;
  readonly job: KeyValue;
  readonly desired: KeyValue | undefined;
  readonly entries: readonly KeyValue[];
  /** `/checkpoints/cut`. */
  readonly cut: KeyValue | undefined;
}

const AT_A_TIME_MS = 200;

/**
 * Reads the store. Throws `JobConflict`, naming them, while pservers live; waits up to `patienceMs` for the leases of dead
 * ones to run out.
 */
export async function readQuietJob(access: SwapAccess, patienceMs: number): Promise<QuietJob> {
  const { store, keys, clock, signal } = access;
  const endMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const { entries: live, revision } = await store.range({ prefix: keys.psPrefix });
    if (live.length === 0) return { token: revision, ...(await readJob(access)) };
    if (clock.monotonicMs() >= endMs) throw pserversLive(live);
    await pause(clock, AT_A_TIME_MS, signal);
    signal?.throwIfAborted();
  }
}

async function readJob({ store, keys }: SwapAccess): Promise<Omit<QuietJob, 'token'>> {
  const { succeeded, results } = await store.txn({ if: [], then: [{ get: keys.job }, { get: keys.psDesired }] });
  const [job, desired] = results;
  if (!succeeded || job === undefined) throw new PaddletError('JobUnknown', `no job at ${keys.chroot}`);
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  return {
    job,
    desired,
    entries: entries.filter(({ key }) => key !== keys.cut),
    cut: entries.find(({ key }) => key === keys.cut),
  };
}

function pserversLive(live: readonly KeyValue[]): PaddletError {
  const names = live.map(({ key, value }) => `${key} (${value})`).join(', ');
  return new PaddletError('JobConflict', `pservers are alive: ${names}`, {
    hint: 'stop the job first (paddlet stop); the leases of dead pservers run out by themselves, --wait waits for that',
    details: { pservers: live.map(({ key, value }) => ({ key, address: value })) },
  });
}

export interface SwapOptions extends SwapAccess {
  readonly quiet: QuietJob;
  /** By new index. Those of a job in mode sync have a round: they become its cut. */
  readonly generations: readonly Generation[];
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/**
 * Publishes all or nothing. Throws `JobConflict` when a pserver started, or anything else of what was read changed,
 * meanwhile; `Usage` for more pservers than a transaction has room for; `Interrupted` when aborted while the store is away
 * (`details.isDoubtful` says whether it may have happened).
 */
export async function publishRestored(options: SwapOptions): Promise<void> {
  const { store, keys, quiet, generations } = options;
  const { compares, ops } = transactionOf(options);
  if (compares.length > LIMITS.storeTxnOps || ops.length > LIMITS.storeTxnOps) {
    throw new PaddletError('Usage', `${generations.length} pservers are more than one transaction of the store holds`, {
      hint: 'at most 60 pservers, before and after; without --store there is no such limit',
    });
  }
  const first = keys.checkpoint(0);
  const { succeeded } = await settle({
    ...options,
    run: () => store.txn({ if: compares, then: ops }),
    // The name of the new file is in no other value.
    happened: async () => (await store.get(first))?.value === entryText(generations[0]!),
  });
  if (succeeded) return;
  const { entries: live } = await store.range({ prefix: keys.psPrefix });
  if (live.length > 0) throw pserversLive(live);
  throw new PaddletError('JobConflict', `${quiet.job.key}: the job's checkpoints changed meanwhile`, {
    hint: 'somebody else was at work on the job; nothing was published',
  });
}

const entryText = (generation: Generation): string => {
  const entry: CheckpointEntry = { ...generation, keep: 0, generations: [] };
  return JSON.stringify(entry);
};

/** The timeline that the files of a job in mode sync must carry: pservers load them without going back further. */
export const restoredTimeline = ({ cut }: QuietJob, keys: Keys): number => parseCut(keys.cut, cut).cut.timeline + 1;

function cutOf({ quiet, keys, generations }: SwapOptions): Op[] {
  const round = generations[0]?.round;
  if (round === undefined) return [];
  const files = generations.map(({ uuid, md5 }, index) => ({ index, uuid, md5 }));
  const cut: Cut = { timeline: restoredTimeline(quiet, keys), round, files };
  return [{ put: keys.cut, value: JSON.stringify(cut) }];
}

function transactionOf(options: SwapOptions): { compares: Compare[]; ops: Op[] } {
  const { keys, quiet, generations, timestamp } = options;
  const pservers = generations.length;
  const known = new Map(quiet.entries.map((entry) => [entry.key, entry.modRevision]));
  const desired = Math.max(pservers, Number(quiet.desired?.value ?? 0));
  const compares: Compare[] = [
    { key: keys.job, modRevision: quiet.job.modRevision },
    { key: keys.psDesired, modRevision: quiet.desired?.modRevision ?? 0n },
    ...Array.from({ length: desired }, (_, index) => ({ key: keys.ps(index), createRevision: 0n })),
    { key: keys.cut, modRevision: quiet.cut?.modRevision ?? 0n },
    ...[...known].map(([key, modRevision]) => ({ key, modRevision })),
    ...Array.from({ length: pservers }, (_, index) => keys.checkpoint(index))
      .filter((key) => !known.has(key))
      .map((key) => ({ key, modRevision: 0n })),
  ];
  const fresh = new Set(generations.map((_, index) => keys.checkpoint(index)));
  const epochs = generations.flatMap(({ shards }) => shards?.map(({ epoch }) => epoch) ?? []);
  const restored: RestoredRecord = {
    token: quiet.token.toString(),
    pservers,
    epoch: epochs.reduce((most, epoch) => Math.max(most, epoch), 0),
    timestamp,
  };
  const ops: Op[] = [
    ...generations.map((generation, index) => ({ put: keys.checkpoint(index), value: entryText(generation) })),
    ...[...known.keys()].filter((key) => !fresh.has(key)).map((key) => ({ delete: key })),
    ...cutOf(options),
    { put: keys.psDesired, value: String(pservers) },
    { put: keys.restored, value: JSON.stringify(restored) },
    // A snapshot of before would pass for the last state of its shards.
    { deletePrefix: keys.partingPrefix },
    // What pservers said of themselves; all of them are gone.
    { deletePrefix: keys.pserversPrefix },
  ];
  return { compares, ops };
}
