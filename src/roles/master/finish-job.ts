/** From the start of the passes to the result in the store: training, evaluation, conclusion. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import { labelRuleOf } from '../../cluster/job/job-model.ts';
import type { JobResult, Metrics } from '../../cluster/job/job-result.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { orAborted } from '../../cluster/waiting.ts';
import { endOf } from '../../core/evaluation-points.ts';
import { type History, historyText, withEvaluation, withTables } from '../../core/history.ts';
import { noGoodRecord } from '../../data/bad-records.ts';
import { firstBad } from '../../data/first-records.ts';
import { columnSpecOf } from '../../job/schema.ts';
import { fencedTxn } from '../../store/fence.ts';
import type { Compare } from '../../store/store.ts';
import { endEvaluation, evaluate } from './evaluate.ts';
import { resultEnv, runHooks } from './hooks.ts';
import type { JobWork } from './job-work.ts';
import type { MasterState } from './state.ts';
import type { Trained } from './training.ts';

/**
 * Waits until the passes are done in every shard, evaluates, and concludes; starts over when a pserver was restored in
 * that time, as what it lost is replayed first.
 */
export async function finishJob(work: JobWork, state: MasterState): Promise<void> {
  const { context, stopSignal, info } = work;
  const { clock, log } = context.host;
  const { training, evaluations } = state;
  evaluations?.begin(training);
  const appliedBefore = await training.applied();
  const beganMs = clock.monotonicMs();
  for (;;) {
    info.enters('training');
    const trained = await training.trained();
    const trainedSeconds = (clock.monotonicMs() - beganMs) / 1000;
    try {
      const signal = AbortSignal.any([stopSignal, trained.overtaken]);
      const end =
        evaluations === undefined ? endOf(training.length) : await evaluations.halted(trained, training, signal);
      if (end === undefined) continue;
      state.saves?.trained(end.passes);
      // The rate covers this master's own time: it did not measure what was trained before.
      const applied = Math.max(0, (await orAborted(training.applied(), signal)) - appliedBefore);
      const recordsPerSecond = Math.round(applied / Math.max(trainedSeconds, 0.001));
      if (await conclude({ ...work, stopSignal: signal }, state, { trained, passes: end.passes, recordsPerSecond }))
        return;
    } catch (error) {
      if (stopSignal.aborted || !trained.overtaken.aborted || !isPaddletError(error, 'Interrupted')) throw error;
    } finally {
      trained.release();
      endEvaluation(state);
    }
    log.warn('a pserver was restored while the job was finishing: replaying the lost work first');
    state.saves?.overtaken();
  }
}

interface End {
  readonly trained: Trained;
  /** Number of passes that were trained. */
  readonly passes: number;
  readonly recordsPerSecond: number;
}

/** False when a pserver was restored since: the result is not that of the model as it is now. */
async function conclude(
  work: JobWork,
  state: MasterState,
  { trained, passes, recordsPerSecond }: End,
): Promise<boolean> {
  const { stopSignal, info, changed } = work;
  const { testMetrics, notFinite } = await evaluated(work, state, trained.restores, passes);
  info.enters('concluding');
  await changed.until(() => (state.saves?.isSaved(passes) === false ? undefined : true), stopSignal);
  const result = await trained.conclude({
    stopSignal,
    passes,
    testMetrics,
    recordsPerSecond,
    evaluation: state.evaluations?.summary(),
  });
  await refuseNoneGood(work, result);
  // Not before the checkpoints of the end are there: they show which values are not finite.
  if (notFinite !== undefined) throw notFinite;
  await runHooks({ ...work, ...work.hooks }, 'after', resultEnv(result));
  failPoint('result.publishing');
  await orAborted(state.samples.settled(), stopSignal);
  const history = withResult(state.training.history(), result, work.context.host.clock.wallSeconds());
  if (!(await publishResult(work, { result, history }, trained.unchanged))) return false;
  state.isFinished = true;
  changed.notify();
  return true;
}

interface FinalEvaluation {
  readonly testMetrics?: Metrics | undefined;
  readonly notFinite?: PaddletError;
}

async function evaluated(
  work: JobWork,
  state: MasterState,
  restores: number,
  passes: number,
): Promise<FinalEvaluation> {
  try {
    return { testMetrics: await evaluate(work, state, restores) };
  } catch (error) {
    if (!isPaddletError(error, 'ModelNotFinite')) throw error;
    const message = `the model after pass ${passes} cannot be evaluated: ${error.message}`;
    const hint = error.hint === undefined ? {} : { hint: error.hint };
    return { notFinite: new PaddletError('ModelNotFinite', message, { cause: error, ...hint }) };
  }
}

/** Throws `DataInvalid` when nothing was trained on because records are bad, which `data.maxBadRecords` allowed. */
export async function refuseNoneGood(
  { place, record, model, data }: Pick<JobWork, 'place' | 'record' | 'model' | 'data'>,
  { records }: Pick<JobResult, 'records'>,
): Promise<void> {
  if (records.applied > 0 || records.bad === 0) return;
  const paths = data.train.index.files.map(({ path }) => path);
  const { format } = record.job.data;
  const first = { what: paths, format, labels: labelRuleOf(record, model), columns: columnSpecOf(record.job) };
  throw noGoodRecord(paths, await firstBad(place, first), format);
}

/** The metrics of the test files and the figures of tables become points with the result that has them. */
function withResult(history: History, { passes, records, metrics, tables }: JobResult, wallSeconds: number): History {
  const timeMs = Math.round(1000 * wallSeconds);
  const { test } = metrics;
  const point = test && { name: 'test', timeMs, passes, trained: records.applied, metrics: test };
  const evaluated = point === undefined ? history : withEvaluation(history, point);
  return tables === undefined ? evaluated : withTables(evaluated, { timeMs, passes, tables });
}

interface Ending {
  readonly result: JobResult;
  readonly history: History;
}

/** Publishes the result, after all saves of the queue and the curves have ended. */
async function publishResult(
  { context, fence }: JobWork,
  { result, history }: Ending,
  unchanged: Compare,
): Promise<boolean> {
  const { keys, store } = context;
  const value = JSON.stringify(result);
  return retryStore(context, async () => {
    const answer = await fencedTxn(store, fence, {
      if: [{ key: keys.result, createRevision: 0n }, unchanged],
      then: [
        { put: keys.result, value },
        { put: keys.history, value: historyText(history) },
      ],
      else: [{ get: keys.result }],
    });
    // A try whose outcome was unknown may have landed; or another process ended the job.
    return answer.succeeded || answer.results[0] !== undefined;
  });
}
