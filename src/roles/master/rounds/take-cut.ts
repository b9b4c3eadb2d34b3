/**
 * Takes one cut of a job in sync mode: has every pserver save one and the same round, and, when all have published
 * their files, makes them the cut that all pservers go back to when a shard is lost (docs/modes.md, "Cuts").
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { type CutFile, nextCut, parseCut, type ReadCut } from '../../../checkpoint/registry/cut.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';
import { orAborted } from '../../../cluster/waiting.ts';
import type { SaveMode } from '../../../protocol/messages/to-pserver.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';

type SizedFile = CutFile & { readonly bytes: number };

/** A complete cut, with the sizes of its files. */
export interface TakenCut {
  readonly timeline: number;
  readonly round: number;
  readonly files: readonly SizedFile[];
}

export interface LastCut extends TakenCut {
  /** Revision of the key of the cut. */
  readonly modRevision: bigint;
}

export interface CutCompleted {
  readonly type: 'completed';
  readonly taken: LastCut;
}

export interface CutFailed {
  readonly type: 'failed';
  readonly error: PaddletError;
}

/** What became of the announcement of one round. `overtaken`: all pservers are set back. */
export type CutOutcome =
  | CutCompleted
  | CutFailed
  | { readonly type: 'declined'; readonly passed: boolean }
  | { readonly type: 'overtaken' };

export interface TakeCutOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly fence: Fence;
  readonly group: PserverGroup;
  /** The cut in the store. */
  readonly stored: CutView;
}

/** A checkpoint of many gigabytes takes its time. */
const CUT_TIMEOUT_MS = 3_600_000;

/** What to save. `mode`: bases or deltas; undefined: what is due at each pserver. */
export interface WantedCut {
  readonly round: number;
  readonly mode: SaveMode | undefined;
}

/** Announces the round and waits until it is saved everywhere. `Interrupted` when aborted, as by a rollback. */
export async function takeCut(options: TakeCutOptions, wanted: WantedCut, signal: AbortSignal): Promise<CutOutcome> {
  const { stored, group } = options;
  const { round, mode } = wanted;
  const from = await stored.changed.until(() => stored.current(), signal);
  const { timeline } = from.cut;
  const answers = await orAborted(
    group.withPlacement(
      `cut of round ${round}`,
      ({ pservers }) =>
        allSettledOrThrow(
          pservers.map((pserver) => askCut(group, pserver, { timeline, round, ...(mode && { mode }) })),
        ),
      signal,
    ),
    signal,
  );
  const unwritten = answers.find((answer) => 'error' in answer);
  if (unwritten !== undefined) return { type: 'failed', error: unwritten.error };
  const declined = answers.filter((answer) => 'version' in answer);
  if (declined.length > 0) return { type: 'declined', passed: declined.some(({ version }) => version > round) };
  failPoint('cut.saved');
  const files = answers.filter((answer) => 'uuid' in answer).sort((a, b) => a.index - b.index);
  return complete(options, from, { round, files }, signal);
}

type CutAnswer = SizedFile | { readonly version: number } | { readonly error: PaddletError };

/** A failed write is an answer; any other failure is tried again. */
async function askCut(
  group: PserverGroup,
  pserver: PlacedPserver,
  which: { timeline: number; round: number; mode?: SaveMode },
): Promise<CutAnswer> {
  try {
    const reply = await group.ask(pserver, 'cut', which, [], CUT_TIMEOUT_MS);
    reply.free();
    const { outcome, version, saved } = reply.header;
    if (outcome === 'declined') return { version };
    assert(saved !== undefined, 'what is saved has a file');
    return { index: pserver.index, ...saved };
  } catch (error) {
    if (isPaddletError(error, 'CheckpointNotWritten')) return { error };
    throw error;
  }
}

async function complete(
  { context, fence }: TakeCutOptions,
  seen: ReadCut,
  { round, files }: { round: number; files: readonly SizedFile[] },
  signal: AbortSignal,
): Promise<CutOutcome> {
  const { store, keys } = context;
  const { timeline } = seen.cut;
  const parts = { round, files: files.map(({ index, uuid, md5 }) => ({ index, uuid, md5 })) };
  const completed = (modRevision: bigint): CutOutcome => {
    context.host.log.info(`cut: round ${round} is saved`, { timeline, files: files.length });
    return { type: 'completed', taken: { timeline, round, files, modRevision } };
  };
  for (let from = seen; ; ) {
    // Taken again, as by the next master: the complete one before stays what it is.
    const next = from.cut.round === round ? { ...from.cut, ...parts } : nextCut(from.cut, parts);
    const value = JSON.stringify(next);
    if (value === JSON.stringify(from.cut)) return completed(from.modRevision);
    const answer = await retryStore(
      context,
      () =>
        fencedTxn(store, fence, {
          if: [{ key: keys.cut, modRevision: from.modRevision }],
          then: [{ put: keys.cut, value }],
          else: [{ get: keys.cut }],
        }),
      signal,
    );
    const found = answer.results[0];
    // A try whose outcome was unknown may have landed.
    if (answer.succeeded || found?.value === value) {
      failPoint('cut.completed');
      return completed(found?.modRevision ?? answer.revision);
    }
    const now = parseCut(keys.cut, found);
    if (now.cut.timeline !== timeline) return { type: 'overtaken' };
    // What was seen was older than the last cut, which this master completed itself: its own write comes back late.
    from = now;
  }
}
