/**
 * Takes the cuts of a job in sync mode: has every pserver save one and the same round, and, when all have published their
 * files, makes them the cut that everybody goes back to when a shard is lost (DESIGN §6, "Cuts"). When is decided by
 * `src/core/rounds/cut-planner.ts`.
 */
import { assert } from '../../../base/assert.ts';
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { type CutFile, nextCut, parseCut, type ReadCut } from '../../../checkpoint/registry/cut.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';
import { createSignal, interrupted, orAborted, pauseOrAborted } from '../../../cluster/waiting.ts';
import { type CutEvent, type CutPlannerOptions, createCutPlanner } from '../../../core/rounds/cut-planner.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';

type SizedFile = CutFile & { readonly bytes: number };

/** A complete cut, with the sizes of its files. */
export interface TakenCut {
  readonly timeline: number;
  readonly round: number;
  readonly files: readonly SizedFile[];
}

export interface Cuts {
  /** Where the rounds stand: it may be time for a cut. */
  saw(highest: number): void;
  /** A cut as soon as can be; undefined when one is being taken already. */
  request(signal: AbortSignal): Promise<TakenCut | undefined>;
  /** Of the last round, which every pserver has: tried until the disks take it. `Interrupted` when all are set back. */
  last(signal: AbortSignal): Promise<LastCut>;
  /** Since this master took over. */
  counts(): { readonly complete: number; readonly givenUp: number };
  /** The round that is being saved. */
  running(): number | undefined;
}

export interface CutsOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly fence: Fence;
  readonly group: PserverGroup;
  readonly cuts: CutView;
  readonly plan: RoundPlan;
  readonly over: AbortSignal;
  readonly onEnd: (error: unknown) => void;
}

/** A checkpoint of many gigabytes takes its time. */
const CUT_TIMEOUT_MS = 3_600_000;

export interface LastCut extends TakenCut {
  /** Of the key of the cut. */
  readonly modRevision: bigint;
}

interface Completed {
  readonly type: 'completed';
  readonly taken: LastCut;
}

interface Failed {
  readonly type: 'failed';
  readonly error: PaddletError;
}

/** What became of the announcement of one round. `overtaken`: all pservers are set back. */
type Outcome =
  | Completed
  | Failed
  | { readonly type: 'declined'; readonly passed: boolean }
  | { readonly type: 'overtaken' };

export function createCuts(options: CutsOptions): Cuts {
  const { context, record, cuts, plan, over } = options;
  const { clock, log } = context.host;
  const { passes } = record.job.training;
  const rounds = plan.firstOf(passes);
  const planner = createCutPlanner(plannerOptions(options), clock.monotonicMs());
  const ended = createSignal();
  let timeline = cuts.current()?.cut.timeline ?? 0;
  let running: { readonly round: number; readonly abort: AbortController } | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let isRequested = false;
  let ends = 0;
  let lastEnd: Completed | Failed | undefined;
  let complete = 0;
  let givenUp = 0;

  function step(event: CutEvent): void {
    const cut = planner.step(event, clock.monotonicMs());
    if (cut === undefined) return;
    log.debug(`a cut of round ${cut.round}: ${cut.why}`);
    begin(cut.round).catch(endWith);
  }

  const endWith = (error: unknown): void => {
    if (!over.aborted || !isPaddletError(error, 'Interrupted')) options.onEnd(error);
  };

  async function begin(round: number): Promise<void> {
    const outcome = await announce(round, over);
    if (outcome.type === 'failed') {
      log.error(`the cut of round ${round} was not written: ${outcome.error.message}`, { hint: outcome.error.hint });
    }
    // What was overtaken is told to the planner by whoever sees the timeline.
    if (outcome.type === 'declined') step({ type: 'declined', passed: outcome.passed });
    else if (outcome.type !== 'overtaken') finish(outcome, round);
  }

  function finish(outcome: Completed | Failed, round: number): void {
    lastEnd = outcome;
    ends += 1;
    ended.notify();
    step({ type: outcome.type, round });
  }

  /** One at a time. */
  function announce(round: number, signal: AbortSignal): Promise<Outcome> {
    const mine = turn.then(async (): Promise<Outcome> => {
      const abort = new AbortController();
      running = { round, abort };
      try {
        const outcome = await takeCut(options, round, AbortSignal.any([signal, abort.signal]));
        if (outcome.type === 'completed') complete += 1;
        else givenUp += 1;
        return outcome;
      } catch (error) {
        if (signal.aborted || !abort.signal.aborted || !isPaddletError(error, 'Interrupted')) throw error;
        log.warn(`the cut of round ${round} is given up: all pservers are set back`);
        givenUp += 1;
        return { type: 'overtaken' };
      } finally {
        running = undefined;
      }
    });
    turn = Promise.allSettled([mine]);
    return mine;
  }

  async function followTimeline(): Promise<never> {
    for (;;) {
      const now = await cuts.changed.until(() => {
        const cut = cuts.current()?.cut;
        return cut !== undefined && cut.timeline !== timeline ? cut : undefined;
      }, over);
      timeline = now.timeline;
      running?.abort.abort();
      step({ type: 'rolledBack', round: now.round });
    }
  }
  followTimeline().catch(endWith);

  return {
    saw: (highest) => step({ type: 'rounds', highest }),
    async request(signal) {
      if (running !== undefined || isRequested) return undefined;
      isRequested = true;
      const before = ends;
      const either = AbortSignal.any([signal, over]);
      try {
        step({ type: 'asked' });
        const outcome = await ended.until(() => (ends > before ? lastEnd : undefined), either);
        if (outcome.type === 'failed') throw outcome.error;
        return outcome.taken;
      } finally {
        isRequested = false;
      }
    },
    async last(signal) {
      for (let failures = 0; ; failures++) {
        const outcome = await announce(rounds, signal);
        if (outcome.type === 'completed') {
          finish(outcome, rounds);
          return outcome.taken;
        }
        if (outcome.type === 'overtaken') throw interrupted();
        if (outcome.type === 'failed' && failures === 0) {
          log.error(`the last cut is not written yet: ${outcome.error.message}`, { hint: outcome.error.hint });
        }
        await pauseOrAborted(clock, backoffMs(failures), signal);
      }
    },
    counts: () => ({ complete, givenUp }),
    running: () => running?.round,
  };
}

function plannerOptions({ record, cuts, plan }: CutsOptions): CutPlannerOptions {
  const { passes } = record.job.training;
  const { intervalMs, everyPasses, everyBatches } = record.job.checkpoint;
  return {
    intervalMs: intervalMs === 'off' ? undefined : intervalMs,
    everyPasses,
    everyRounds: everyBatches === undefined ? undefined : Math.ceil(everyBatches / plan.lanes),
    rounds: plan.firstOf(passes),
    firstOf: (pass) => plan.firstOf(Math.min(pass, passes)),
    passOf: (round) => plan.placeOf(round)?.pass ?? passes,
    last: cuts.current()?.cut.round ?? 0,
  };
}

/** Announces the round and waits until it is saved everywhere. `Interrupted` when aborted, as by a rollback. */
async function takeCut(options: CutsOptions, round: number, signal: AbortSignal): Promise<Outcome> {
  const { cuts, group } = options;
  const from = await cuts.changed.until(() => cuts.current(), signal);
  const { timeline } = from.cut;
  const answers = await orAborted(
    group.withPlacement(
      `cut of round ${round}`,
      ({ pservers }) => allSettledOrThrow(pservers.map((pserver) => askCut(group, pserver, { timeline, round }))),
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

/** A disk that does not take it is an answer; whatever else fails is tried again. */
async function askCut(
  group: PserverGroup,
  pserver: PlacedPserver,
  which: { timeline: number; round: number },
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
  { context, fence }: CutsOptions,
  seen: ReadCut,
  { round, files }: { round: number; files: readonly SizedFile[] },
  signal: AbortSignal,
): Promise<Outcome> {
  const { store, keys } = context;
  const { timeline } = seen.cut;
  const parts = { round, files: files.map(({ index, uuid, md5 }) => ({ index, uuid, md5 })) };
  const completed = (modRevision: bigint): Outcome => {
    context.host.log.info(`cut: round ${round} is saved`, { timeline, files: files.length });
    return { type: 'completed', taken: { timeline, round, files, modRevision } };
  };
  for (let from = seen; ; ) {
    // Taken again, as by the master after this one: the complete one before stays what it is.
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
