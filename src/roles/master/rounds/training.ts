/**
 * Mode sync: lanes are dealt to the live trainers, who work round after round; the passes are over when every pserver has
 * the version after the last round and a cut of it is complete (DESIGN §6). Nothing of it is saved by the master: where the
 * rounds stand is what the pservers say, and the cut is in the store.
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { ReadCut } from '../../../checkpoint/registry/cut.ts';
import { type CutView, followCut } from '../../../cluster/placement/cut-view.ts';
import { createRoundPlan, type RoundPlan } from '../../../core/rounds/plan.ts';
import type { RequestHeader } from '../../../protocol/messages/messages.ts';
import type { Dataset } from '../dataset.ts';
import { takeAccounts } from '../tasks/conclude.ts';
import { ignoreWhen, type Trained, type Training, type TrainingOptions } from '../training.ts';
import { concludeRounds } from './conclude.ts';
import { type Cuts, createCuts, type LastCut } from './cuts.ts';
import { describeLane, describeRounds, registerLaneMetrics, waitReason } from './describe.ts';
import { createLaneService, type LaneService } from './service.ts';
import { createStuckJudge } from './stuck.ts';
import { type RoundsWatch, watchRounds } from './watch.ts';

/** What the rounds are directed with. */
export interface Parts {
  readonly options: TrainingOptions;
  readonly plan: RoundPlan;
  /** All of them. */
  readonly rounds: number;
  readonly watch: RoundsWatch;
  readonly desk: LaneService;
  readonly cuts: Cuts;
  readonly followed: CutView;
}

export interface LaneTraining extends Training {
  readonly mode: 'sync';
  readonly desk: LaneService;
  readonly dataset: Dataset;
  readonly cuts: Cuts;
  /** A trainer finds that a round cannot go on; returns when that was looked into. */
  stuck(report: Extract<RequestHeader, { type: 'roundStuck' }>): Promise<void>;
}

export async function openLaneTraining(options: TrainingOptions, isSaveWanted: () => boolean): Promise<LaneTraining> {
  const { context, record, dataset, over, fail } = options;
  const { training, cluster } = record.job;
  const plan = createRoundPlan({ taskRecords: dataset.taskRecords, ...training });
  const rounds = plan.firstOf(training.passes);
  const followed = followCut(context, fail);
  try {
    await followed.changed.until(() => followed.current(), over);
  } catch (error) {
    followed.cancel();
    throw error;
  }
  const watched: { watch?: RoundsWatch } = {};
  const desk = createLaneService({
    ...options,
    describe: (round, lane) => describeLane(dataset, plan, round, lane),
    isWanted: isSaveWanted,
    look: () => watched.watch?.look(),
  });
  const cuts = createCuts({ ...options, cuts: followed, plan, onEnd: fail });
  const passes = createPassReport(options, plan);
  const watch = watchRounds({
    ...options,
    cuts: followed,
    pservers: cluster.pservers,
    onEnd: fail,
    onStanding: (standing) => {
      passes.saw(standing.version);
      desk.setOver(standing.version >= rounds);
      desk.tell({ type: 'rounds', ...standing });
      cuts.saw(standing.highest);
    },
  });
  watched.watch = watch;
  const stuck = createStuckJudge({ ...options, cuts: followed });
  const parts: Parts = { options, plan, rounds, watch, desk, cuts, followed };
  registerLaneMetrics(context.registry, parts);

  return {
    mode: 'sync',
    desk,
    dataset,
    cuts,
    stuck,
    async trained() {
      for (;;) {
        await watch.changed.until(() => ((watch.current()?.version ?? 0) >= rounds ? true : undefined), over);
        const cut = await takeLast(parts);
        if (cut !== undefined) return trainedAt(parts, cut);
      }
    },
    tell(event) {
      // Who was cut off hears where the rounds stand with the next answer of a pserver.
      if (event.type !== 'resumed') desk.tell(event);
    },
    passesEnded: passes.ended,
    applied: async () => {
      const accounts = await takeAccounts(options.group, over);
      return Math.min(...accounts.map(({ applied }) => applied));
    },
    waitReason: () => waitReason(parts),
    pass: () => {
      const now = watch.current();
      return now && passAt(plan, now.version, training.passes);
    },
    describe: () => ({ mode: 'sync', rounds: describeRounds(parts) }),
    wake: desk.wake,
    close() {
      watch.cancel();
      followed.cancel();
      desk.close();
    },
  };
}

const passAt = (plan: RoundPlan, round: number, passes: number): number => plan.placeOf(round)?.pass ?? passes;

/** The cut of the end; undefined when all were set back meanwhile. */
async function takeLast({ options, cuts, followed, desk }: Parts): Promise<LastCut | undefined> {
  const { over } = options;
  const { timeline } = followed.current()!.cut;
  const watch = watchCut(followed, ({ cut }) => cut.timeline !== timeline, over);
  try {
    return await cuts.last(AbortSignal.any([over, watch.overtaken]));
  } catch (error) {
    if (over.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    desk.setOver(false);
    return undefined;
  } finally {
    watch.release();
  }
}

function trainedAt({ options, followed, desk }: Parts, cut: LastCut): Trained {
  const watch = watchCut(followed, ({ modRevision }) => modRevision > cut.modRevision, options.over);
  watch.overtaken.addEventListener('abort', () => desk.setOver(false), { once: true });
  return {
    ...watch,
    unchanged: { key: options.context.keys.cut, modRevision: cut.modRevision },
    conclude: (ending) => concludeRounds({ ...options, ...ending, cut }),
  };
}

function watchCut(followed: CutView, isOther: (now: ReadCut) => boolean, over: AbortSignal) {
  const overtaken = new AbortController();
  const stop = new AbortController();
  const look = (): true | undefined => {
    const now = followed.current();
    return now !== undefined && isOther(now) ? true : undefined;
  };
  followed.changed.until(look, AbortSignal.any([over, stop.signal])).then(
    () => overtaken.abort(),
    (error: unknown) => assert(isPaddletError(error, 'Interrupted'), 'waiting ends by an interruption only'),
  );
  return { overtaken: overtaken.signal, release: () => stop.abort() };
}

/** Says what each pass that ends came to, from the sums that the pservers keep. */
function createPassReport(options: TrainingOptions, plan: RoundPlan) {
  const { context, record, group, over } = options;
  const { passes } = record.job.training;
  let ended: number | undefined;
  let reporting: Promise<void> = Promise.resolve();

  async function report(pass: number): Promise<void> {
    const reply = await group.withPlacement('account', ({ pservers }) => group.ask(pservers[0]!, 'account', {}), over);
    reply.free();
    const sums = reply.header.rounds?.metrics.find((one) => one.pass === pass);
    const records = sums?.records;
    const loss = sums === undefined || sums.records === 0 ? undefined : sums.loss / sums.records;
    options.onPassEnded({ pass, loss, records, facts: records === undefined ? {} : { records } });
  }

  return {
    ended: () => ended ?? 0,
    saw(version: number): void {
      const pass = passAt(plan, version, passes);
      if (ended === undefined) {
        if (version > 0)
          context.host.log.info(`going on in pass ${Math.min(pass + 1, passes)} of ${passes}`, { round: version });
        ended = pass;
      }
      for (; ended < pass; ended++) {
        const one = ended;
        reporting = reporting.then(() => report(one));
      }
      reporting.catch(ignoreWhen(over, options.fail));
      options.onPassesEnded(ended);
    },
  };
}
