/**
 * Evaluation while a job trains (src/core/evaluation-points.ts): training halts at each point until what the pservers
 * have is saved, and the files have a name that keeps them. Training continues while those files are scored. At the
 * next point the scores are known: then the job continues, or ends there.
 */
import { assert } from '../../../base/assert.ts';
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { KeptModels, Metrics } from '../../../cluster/job/job-result.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { logWaiting, orAborted, pauseOrAborted } from '../../../cluster/waiting.ts';
import {
  type EvaluationState,
  evaluationStateSchema,
  goingOn,
  haltOf,
  isEnd,
  isSamePoint,
  NO_EVALUATIONS,
  newestOf,
  type Reached,
  type SavedModel,
  type ScoredModel,
  type TrainingLength,
  withSaved,
  withScores,
} from '../../../core/evaluation-points.ts';
import { parseStoreValue } from '../../../core/tasks/state.ts';
import type { Job } from '../../../job/schema.ts';
import type { Fence } from '../../../store/fence.ts';
import { ignoreAfter, type Trained, type Training } from '../training.ts';
import { EvaluationKey } from './evaluation-key.ts';
import { keepModel, type ModelKeeper } from './model-keeper.ts';

export interface EvaluationsOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly fence: Fence;
  readonly keeper: ModelKeeper;
  /** When and how the job is evaluated. */
  readonly rule: NonNullable<Job['evaluation']>;
  readonly stopSignal: AbortSignal;
  readonly onFatal: (error: unknown) => void;
}

export interface Evaluations {
  /** Where training halts next, or now. */
  point(length: TrainingLength): Reached;
  /** What a master before has left is scored, or removed. */
  begin(training: Training): void;
  /**
   * Training has halted: saves the model. Returns where the job ends, if it ends there; undefined if training
   * continues, or if the saved state was rolled back.
   */
  halted(trained: Trained, training: Training, signal: AbortSignal): Promise<Reached | undefined>;
  /** What training that has halted waits for; undefined where the job ends. */
  waitReason(): string | undefined;
  /** For the result of the job; undefined before the first evaluation. */
  summary(): KeptModels | undefined;
}

/** Pauses of seconds in between. */
const SCORE_TRIES = 8;
const CERTAIN_TRIES = 2;

export async function openEvaluations(options: EvaluationsOptions): Promise<Evaluations> {
  const { context, stopSignal } = options;
  const { store, keys } = context;
  const entry = await retryStore(context, () => store.get(keys.evaluation), stopSignal);
  const state = entry === undefined ? NO_EVALUATIONS : parseStoreValue(evaluationStateSchema, entry.key, entry.value);
  return new StoredEvaluations(options, state, new EvaluationKey(options, entry));
}

class StoredEvaluations implements Evaluations {
  readonly #options: EvaluationsOptions;
  readonly #key: EvaluationKey;
  #state: EvaluationState;
  #scoring: Promise<void> | undefined;
  #hasEnded = false;

  constructor(options: EvaluationsOptions, state: EvaluationState, key: EvaluationKey) {
    this.#options = options;
    this.#state = state;
    this.#key = key;
  }

  point(length: TrainingLength): Reached {
    return haltOf(this.#options.rule, this.#state, length);
  }

  begin(training: Training): void {
    if (this.#state.pending === undefined && this.#scoring === undefined) this.#scoring = this.#follow(this.#tidy());
    else this.#beginScoring(training);
  }

  waitReason(): string | undefined {
    const { pending } = this.#state;
    if (pending !== undefined) return `the model after ${shown(pending.name)} is being evaluated`;
    return this.#hasEnded ? undefined : 'the model is being saved, to be evaluated';
  }

  async halted(trained: Trained, training: Training, signal: AbortSignal): Promise<Reached | undefined> {
    const { rule } = this.#options;
    const { length } = training;
    const { at } = trained;
    assert(isSamePoint(at, this.point(length)), `training halts at ${JSON.stringify(this.point(length))}`);
    await this.#scored(training, signal);
    if (!isSamePoint(newestOf(this.#state), at)) {
      if (!(await this.#save(trained, training, signal))) return undefined;
    } else if (!(await this.#store(goingOn(rule, this.#state, at, length), trained))) return undefined;
    if (isEnd(at, this.#state, length)) {
      await this.#scored(training, signal);
      this.#hasEnded = true;
      return at;
    }
    failPoint('evaluation.going-on');
    this.#beginScoring(training);
    training.goOn(this.point(length));
    return undefined;
  }

  summary(): KeptModels | undefined {
    const { best, last } = this.#state;
    if (last === undefined) return undefined;
    const asShown = ({ name, passes, rounds, metrics }: ScoredModel) => ({
      passes,
      ...(rounds === undefined ? {} : { rounds }),
      checkpoint: this.#options.keeper.pathOf(name),
      metrics: metrics as Metrics,
    });
    const { passes } = this.#options.record.job.training;
    return {
      metric: this.#options.rule.metric,
      isStoppedEarly: this.#state.isStopping && last.passes < passes,
      ...(best === undefined ? {} : { best: asShown(best) }),
      last: asShown(last),
    };
  }

  /** False when a pserver was restored in the meantime. */
  async #save(trained: Trained, training: Training, signal: AbortSignal): Promise<boolean> {
    const { context, keeper, rule } = this.#options;
    const { at } = trained;
    const name = rule.everyRounds === undefined ? `pass-${at.passes}` : `round-${at.rounds}`;
    const records = await orAborted(training.applied(), signal);
    await keepModel({ keeper, host: context.host, name, signal, save: () => trained.save(signal) });
    failPoint('evaluation.kept');
    const next = withSaved(rule, this.#state, { ...at, trained: records, name }, training.length);
    if (!(await this.#store(next, trained))) return false;
    context.host.log.info(`the model after ${shown(name)} is kept: ${keeper.pathOf(name)}`);
    return true;
  }

  #beginScoring(training: Training): void {
    const { pending } = this.#state;
    if (pending !== undefined && this.#scoring === undefined)
      this.#scoring = this.#follow(this.#score(pending, training));
  }

  /** What fails fails the job. */
  #follow(work: Promise<void>): Promise<void> {
    const { stopSignal, onFatal } = this.#options;
    const followed = work.finally(() => {
      this.#scoring = undefined;
    });
    followed.catch(ignoreAfter(stopSignal, onFatal));
    return followed;
  }

  /** Returns when no saved model is without scores, and what is no longer kept is removed. */
  async #scored(training: Training, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.context.host;
    const quiet = logWaiting(clock, log, () => this.waitReason() ?? 'what is kept of models');
    try {
      for (;;) {
        this.#beginScoring(training);
        if (this.#scoring === undefined) return;
        await orAborted(this.#scoring, signal);
      }
    } finally {
      quiet();
    }
  }

  async #score(pending: SavedModel, training: Training): Promise<void> {
    const { context, keeper, rule } = this.#options;
    const { log, clock } = context.host;
    const { name, passes, trained } = pending;
    const metrics = await this.#tryToScore(name);
    const set = rule.data.length === 0 ? 'test' : 'validation';
    await training.evaluated({ name: set, timeMs: Math.round(1000 * clock.wallSeconds()), passes, trained, metrics });
    const wasStopping = this.#state.isStopping;
    // Listed before the write, which succeeds only as long as no other master keeps models.
    const there = await keeper.names();
    const next = withScores(rule, this.#state, numbersIn(metrics));
    await this.#store(next, undefined);
    const { metric } = rule;
    const isBest = next.best?.name === name ? ', the best so far' : '';
    log.info(`the model after ${shown(name)}: ${metric} ${metrics[metric] ?? 'is missing'}${isBest}`, { ...metrics });
    if (next.isStopping && !wasStopping) log.info('the metric no longer improves: the job ends early');
    await this.#removeOthers(there);
  }

  async #tryToScore(name: string): Promise<Metrics> {
    const { context, keeper, stopSignal } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return await keeper.score(name, stopSignal);
      } catch (error) {
        // Another word than that it did not work is of the data or the files, and comes again.
        const isCertain = isPaddletError(error) && error.code !== 'EvaluationFailed';
        if (stopSignal.aborted || tries >= (isCertain ? CERTAIN_TRIES : SCORE_TRIES)) throw error;
        context.host.log.error(`the model after ${shown(name)} could not be evaluated: ${(error as Error).message}`);
        await pauseOrAborted(context.host.clock, backoffMs(tries - 1, BETWEEN_SCORES), stopSignal);
      }
    }
  }

  /** A master before may have died before it had removed all. */
  async #tidy(): Promise<void> {
    const there = await this.#options.keeper.names();
    if (there.every((name) => this.#isKept(name))) return;
    await this.#store(this.#state, undefined);
    await this.#removeOthers(there);
  }

  #isKept(name: string): boolean {
    const { best, last, pending } = this.#state;
    return [best, last, pending].some((model) => model?.name === name);
  }

  /** A disk that does not remove them keeps them. */
  async #removeOthers(names: readonly string[]): Promise<void> {
    const { keeper, context } = this.#options;
    for (const name of names) {
      if (this.#isKept(name)) continue;
      await keeper.remove(name).catch((error: unknown) => {
        context.host.log.warn(`${keeper.pathOf(name)} could not be removed: ${(error as Error).message}`);
      });
    }
  }

  /** False if the state in which training had halted was rolled back. */
  async #store(next: EvaluationState, halted: Pick<Trained, 'unchanged'> | undefined): Promise<boolean> {
    if (!(await this.#key.write(JSON.stringify(next), halted?.unchanged))) return false;
    this.#state = next;
    return true;
  }
}

const BETWEEN_SCORES = { firstMs: 1_000, capMs: 30_000 };

const shown = (name: string): string => name.replace('-', ' ');

const numbersIn = (metrics: Metrics): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== undefined));
