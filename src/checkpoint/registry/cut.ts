/**
 * The key `/checkpoints/cut` of jobs in sync mode: files of all pservers that together are the model after one round,
 * and the timeline (docs/modes.md, "Cuts"). Losing a shard sets every pserver back to the cut, under the next
 * timeline.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { Store } from '../../store/store.ts';
import { UUID_PATTERN } from '../file/paths.ts';
import type { Generation } from './entry.ts';

const count = z.int().min(0);

const fileSchema = z.strictObject({
  index: count.max(LIMITS.pservers - 1),
  uuid: z.string().regex(UUID_PATTERN),
  md5: z.string().regex(/^[0-9a-f]{32}$/),
});
export type CutFile = z.infer<typeof fileSchema>;

const partsSchema = {
  /** The version of the parameters that the files hold. Round 0 needs none: those are the initial values. */
  round: count,
  /** One of each pserver, by index. */
  files: z.array(fileSchema).max(LIMITS.pservers),
};

const cutSchema = z.strictObject({
  /** Raised each time that all pservers are set back. */
  timeline: count,
  ...partsSchema,
  /** The complete cut before this one, for when a file of this one turns out to be damaged. */
  before: z.strictObject(partsSchema).optional(),
});
export type Cut = z.infer<typeof cutSchema>;
export type CutParts = Pick<Cut, 'round' | 'files'>;

/** What every job begins with. */
export const FIRST_CUT: Cut = { timeline: 0, round: 0, files: [] };

export interface ReadCut {
  readonly cut: Cut;
  /** 0n while the key does not exist. */
  readonly modRevision: bigint;
}

export const parseCut = (key: string, found: { value: string; modRevision: bigint } | undefined): ReadCut =>
  found === undefined
    ? { cut: FIRST_CUT, modRevision: 0n }
    : { cut: parseStoreValue(cutSchema, key, found.value), modRevision: found.modRevision };

/** Throws `StoreValueInvalid`. */
export async function readCut(store: Store, key: string): Promise<ReadCut> {
  return parseCut(key, await store.get(key));
}

/** Files that must stay whatever else is kept. */
export function filesOfCut(cut: Cut): ReadonlySet<string> {
  return new Set([...cut.files, ...(cut.before?.files ?? [])].map(({ uuid }) => uuid));
}

/**
 * Which of a pserver's published files, newest first, must stay: those of the cut, of the one before it, and the newest
 * that was written for a cut. That one may be named by the cut that is being completed now; those before it no longer
 * can, since the master announces a cut only when the one before it has ended, and then `cut` names it or never will.
 * So `cut` must have been read after the newest file was announced. Files written for a clean stop belong to no cut.
 */
export function protectedByCut(cut: Cut, published: readonly Pick<Generation, 'uuid' | 'clean'>[]): Set<string> {
  const newest = published.find(({ clean }) => clean !== true);
  return new Set([...filesOfCut(cut), ...(newest === undefined ? [] : [newest.uuid])]);
}

/** After the cut: what a newly completed one replaces. */
export const nextCut = (last: Cut, parts: CutParts): Cut => ({
  timeline: last.timeline,
  round: parts.round,
  files: parts.files,
  ...(last.round === 0 ? {} : { before: { round: last.round, files: last.files } }),
});

/** Back to the cut, under a new timeline. */
export const rolledBack = (last: Cut): Cut => ({ ...last, timeline: last.timeline + 1 });

/** A file of the cut cannot be used: back to the complete one before, or to the beginning. */
export const rolledFurtherBack = ({ timeline, before }: Cut): Cut => ({
  timeline: timeline + 1,
  ...(before ?? { round: FIRST_CUT.round, files: FIRST_CUT.files }),
});
