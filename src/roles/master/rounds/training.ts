/**
 * Sync mode: lanes are handed to the live trainers, who work round after round; the passes are over when every
 * pserver has the version after the last round and a cut of it is complete (docs/modes.md). The master saves
 * nothing of it but points of the curves: the pservers say which round they have, and the cut is in the store.
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { ReadCut } from '../../../checkpoint/registry/cut.ts';
import { type CutView, followCut } from '../../../cluster/placement/cut-view.ts';
import { abortOnChange, type ChangeAbort, orAborted } from '../../../cluster/waiting.ts';
import type { Reached } from '../../../core/evaluation-points.ts';
import { createRoundPlan } from '../../../core/rounds/plan.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Dataset } from '../dataset.ts';
import { loadHistory } from '../load-history.ts';
import { takeAccounts } from '../result.ts';
import type { Trained, Training, TrainingOptions } from '../training.ts';
import { concludeRounds } from './conclude.ts';
import { type Cuts, createCuts, type LastCut } from './cuts.ts';
import { describeLane, describeRounds, registerLaneMetrics, waitReason } from './describe.ts';
import { createRoundHistory, type RoundHistory } from './history.ts';
import { createPassReport, type PassReport, passAt } from './pass-report.ts';
import { createLaneService, type LaneService } from './service.ts';
import type { RoundsState } from './state.ts';
import { createStuckJudge } from './stuck.ts';
import { type RoundsWatch, watchRounds } from './watch.ts';

export interface LaneTraining extends Training {
  readonly mode: 'sync';
  readonly service: LaneService;
  readonly dataset: Dataset;
  readonly cuts: Cuts;
  /** A trainer finds that a round cannot be completed; returns when that was looked into. */
  stuck(report: Extract<RequestHeader, { type: 'roundStuck' }>): Promise<void>;
}

export async function openLaneTraining(options: TrainingOptions, isSaveWanted: () => boolean): Promise<LaneTraining> {
  const { context, record, dataset, stopSignal, onFatal } = options;
  const plan = createRoundPlan({ taskRecords: dataset.taskRecords, ...record.job.training });
  const stored = followCut(context, onFatal);
  try {
    await stored.changed.until(() => stored.current(), stopSignal);
  } catch (error) {
    stored.cancel();
    throw error;
  }
  const { passes } = record.job.training;
  const report = createPassReport(options, plan);
  const history = createRoundHistory(options, plan, await loadHistory(context, stopSignal));
  const state = openRounds(options, { plan, stored, report, history, isSaveWanted });
  const { watch, service, cuts } = state;
  registerLaneMetrics(context.registry, state);
  return {
    mode: 'sync',
    service,
    dataset,
    cuts,
    stuck: createStuckJudge({ ...options, stored }),
    trained: () => waitUntilTrained(state),
    tell(event) {
      // A master that was cut off learns the position of the rounds with the next reply of a pserver.
      if (event.type !== 'resumed') service.tell(event);
    },
    passesEnded: report.ended,
    history: history.current,
    evaluated: history.evaluated,
    sampled: history.sampled,
    applied: async () => {
      const accounts = await takeAccounts(options.group, stopSignal);
      return Math.min(...accounts.map(({ applied }) => applied));
    },
    waitReason: () => waitReason(state),
    pass: () => {
      const now = watch.current();
      return now && passAt(plan, now.version, passes);
    },
    goOn(to) {
      state.until = roundsOf(to);
      service.goOn(state.until);
      cuts.goOn(state.until);
      watch.look();
    },
    length: state.length,
    describe: () => ({ mode: 'sync', rounds: describeRounds(state) }),
    wake: service.wake,
    close() {
      watch.cancel();
      stored.cancel();
      service.close();
    },
  };
}

interface RoundsNeed extends Pick<RoundsState, 'plan' | 'stored'> {
  readonly report: PassReport;
  readonly history: RoundHistory;
  readonly isSaveWanted: () => boolean;
}

/** The service of the lanes, the cuts, and the watch that tells both where the rounds are. */
function openRounds(
  options: TrainingOptions,
  { plan, stored, report, history, isSaveWanted }: RoundsNeed,
): RoundsState {
  const { record, dataset } = options;
  const { passes } = record.job.training;
  const length = {
    passes,
    rounds: { firstOf: plan.firstOf, passesAt: (round: number) => passAt(plan, round, passes) },
  };
  const rounds = plan.firstOf(passes);
  const until = roundsOf(options.until(length));
  const watched: { watch?: RoundsWatch } = {};
  const service = createLaneService({
    ...options,
    until,
    describe: (round, lane) =>
      describeLane({ dataset, plan, isShuffled: record.job.data.shuffle === 'records' }, round, lane),
    isWanted: isSaveWanted,
    look: () => watched.watch?.look(),
  });
  const cuts = createCuts({ ...options, stored, plan, until });
  const watch = watchRounds({
    ...options,
    stored,
    onPosition: (position) => {
      report.observe(position.version);
      history.observe(position.version);
      const isDone = position.version >= state.until;
      service.setDone(isDone);
      // Lanes of a round that may not be computed yet are not late.
      service.tell({ type: 'rounds', ...position, missing: isDone ? [] : position.missing });
      cuts.observe(position.highest);
    },
  });
  watched.watch = watch;
  const state: RoundsState = { options, plan, length, rounds, until, watch, service, cuts, stored, history };
  return state;
}

async function waitUntilTrained(state: RoundsState): Promise<Trained> {
  const { options, watch } = state;
  for (;;) {
    const isOver = (): true | undefined => ((watch.current()?.version ?? 0) >= state.until ? true : undefined);
    await watch.changed.until(isOver, options.stopSignal);
    const cut = await takeLast(state);
    if (cut !== undefined) return trainedAt(state, cut);
  }
}

/** The cut of the end; undefined when all were set back in the meantime. */
async function takeLast({ options, cuts, stored, service }: RoundsState): Promise<LastCut | undefined> {
  const { stopSignal } = options;
  const { timeline } = stored.current()!.cut;
  const setBack = abortOnCut(stored, ({ cut }) => cut.timeline !== timeline, stopSignal);
  try {
    return await cuts.last(AbortSignal.any([stopSignal, setBack.signal]));
  } catch (error) {
    if (stopSignal.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    service.setDone(false);
    return undefined;
  } finally {
    setBack.release();
  }
}

function trainedAt({ options, length, stored, service, history }: RoundsState, cut: LastCut): Trained {
  const later = abortOnCut(stored, ({ modRevision }) => modRevision > cut.modRevision, options.stopSignal);
  later.signal.addEventListener('abort', () => service.setDone(false), { once: true });
  return {
    restores: cut.timeline,
    overtaken: later.signal,
    release: later.release,
    unchanged: { key: options.context.keys.cut, modRevision: cut.modRevision },
    at: { passes: length.rounds!.passesAt(cut.round), rounds: cut.round },
    save: async () => cut.files,
    async conclude(ending) {
      await orAborted(history.take(), ending.stopSignal);
      return concludeRounds({ ...options, ...ending, cut });
    },
  };
}

/** Training halts at rounds in sync mode. */
function roundsOf({ rounds }: Reached): number {
  assert(rounds !== undefined, 'points of a job in sync mode are rounds');
  return rounds;
}

function abortOnCut(stored: CutView, isOther: (now: ReadCut) => boolean, stopSignal: AbortSignal): ChangeAbort {
  const hasChanged = (): boolean => {
    const now = stored.current();
    return now !== undefined && isOther(now);
  };
  return abortOnChange(stored.changed, hasChanged, stopSignal);
}
