/**
 * Evaluation while a job trains (src/core/evaluation-points.ts): training halts at each point until what the pservers
 * have is saved, and the files have a name that keeps them. It goes on while those files are scored. At the next point
 * the scores are known: then the job goes on, or ends there.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { KeptFile } from '../../../checkpoint/registry/kept.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { KeptModels, Metrics } from '../../../cluster/job/job-result.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { orAborted, pauseOrAborted } from '../../../cluster/waiting.ts';
import {
  type EvaluationState,
  evaluationStateSchema,
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
import { type Fence, fencedTxn } from '../../../store/fence.ts';
import type { Compare } from '../../../store/store.ts';
import { ignoreAfter, type Trained, type Training } from '../training.ts';

export interface KeptJob {
  readonly record: JobRecord;
  readonly checkpointFolder: string;
}

/** Keeps saved models under names, and scores them. */
export interface ModelKeeper {
  /** `CheckpointMissing` when a file has been removed since. */
  keep(name: string, files: readonly KeptFile[]): Promise<void>;
  /** Only these stay. */
  retain(names: readonly string[]): Promise<void>;
  score(name: string, signal: AbortSignal): Promise<Metrics>;
  /** Where it is kept. */
  pathOf(name: string): string;
}

export interface EvaluationsOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly fence: Fence;
  readonly keeper: ModelKeeper;
  /** Of the job. */
  readonly rule: NonNullable<Job['evaluation']>;
  readonly stopSignal: AbortSignal;
  readonly onFatal: (error: unknown) => void;
}

export interface Evaluations {
  /** Where training halts next, or now. */
  point(length: TrainingLength): Reached;
  /** What is saved and has no scores yet is scored. */
  begin(training: Training): void;
  /** Training has halted: saves the model. Undefined when the job goes on, else where it ends. */
  halted(trained: Trained, training: Training, signal: AbortSignal): Promise<Reached | undefined>;
  /** Why training halts; undefined while it goes on. */
  waitReason(): string | undefined;
  /** For the result of the job. */
  summary(): KeptModels | undefined;
}

const SAVE_TRIES = 5;
const SCORE_TRIES = 3;

export async function openEvaluations(options: EvaluationsOptions): Promise<Evaluations> {
  const { context, stopSignal } = options;
  const { store, keys } = context;
  const entry = await retryStore(context, () => store.get(keys.evaluation), stopSignal);
  const state = entry === undefined ? NO_EVALUATIONS : parseStoreValue(evaluationStateSchema, entry.key, entry.value);
  return new StoredEvaluations(options, state);
}

class StoredEvaluations implements Evaluations {
  readonly #options: EvaluationsOptions;
  #state: EvaluationState;
  /** Of the model that is pending. */
  #scoring: Promise<void> | undefined;
  #isSaving = false;

  constructor(options: EvaluationsOptions, state: EvaluationState) {
    this.#options = options;
    this.#state = state;
  }

  point(length: TrainingLength): Reached {
    return haltOf(this.#options.rule, this.#state, length);
  }

  begin(training: Training): void {
    const { stopSignal } = this.#options;
    // What fails is known to the job by `onFatal`.
    this.#scored(training, stopSignal).catch(() => {});
  }

  waitReason(): string | undefined {
    if (this.#isSaving) return 'the model is being saved, to be evaluated';
    const { pending } = this.#state;
    return pending && `the model after ${shown(pending.name)} is being evaluated`;
  }

  async halted(trained: Trained, training: Training, signal: AbortSignal): Promise<Reached | undefined> {
    const { length } = training;
    const at = this.point(length);
    await this.#scored(training, signal);
    if (!isSamePoint(newestOf(this.#state), at) && !(await this.#save(at, trained, training, signal))) return undefined;
    if (isEnd(at, this.#state, length)) {
      await this.#scored(training, signal);
      return at;
    }
    this.begin(training);
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
  async #save(at: Reached, trained: Trained, training: Training, signal: AbortSignal): Promise<boolean> {
    this.#isSaving = true;
    try {
      return await this.#keep(at, trained, training, signal);
    } finally {
      this.#isSaving = false;
    }
  }

  async #keep(at: Reached, trained: Trained, training: Training, signal: AbortSignal): Promise<boolean> {
    const { context, keeper } = this.#options;
    const name =
      at.rounds === undefined || this.#options.rule.everyRounds === undefined
        ? `pass-${at.passes}`
        : `round-${at.rounds}`;
    const records = await orAborted(training.applied(), signal);
    for (let tries = 1; ; tries++) {
      const files = await trained.save(signal);
      try {
        await keeper.keep(name, files);
        break;
      } catch (error) {
        // Newer files of the pservers have replaced them in the meantime.
        if (!isPaddletError(error, 'CheckpointMissing') || tries >= SAVE_TRIES) throw error;
      }
    }
    const next = withSaved(this.#options.rule, this.#state, { ...at, trained: records, name }, training.length);
    if (!(await this.#store(next, trained.unchanged))) return false;
    context.host.log.info(`the model after ${shown(name)} is kept: ${keeper.pathOf(name)}`);
    return true;
  }

  /** Returns when no saved model is without scores. One that cannot be scored fails the job. */
  #scored(training: Training, signal: AbortSignal): Promise<void> {
    const { pending } = this.#state;
    if (pending === undefined) return Promise.resolve();
    if (this.#scoring === undefined) {
      const { stopSignal, onFatal } = this.#options;
      this.#scoring = this.#score(pending, training).finally(() => {
        this.#scoring = undefined;
      });
      this.#scoring.catch(ignoreAfter(stopSignal, onFatal));
    }
    return orAborted(this.#scoring, signal);
  }

  async #score(pending: SavedModel, training: Training): Promise<void> {
    const { context, keeper, rule } = this.#options;
    const { log, clock } = context.host;
    const metrics = await this.#tryToScore(pending);
    const next = withScores(this.#options.rule, this.#state, numbersIn(metrics));
    const name = rule.data.length === 0 ? 'test' : 'validation';
    const { passes, trained } = pending;
    await training.evaluated({ name, timeMs: Math.round(1000 * clock.wallSeconds()), passes, trained, metrics });
    const wasStopping = this.#state.isStopping;
    await this.#store(next, undefined);
    const { metric } = rule;
    const isBest = next.best?.name === pending.name ? ', the best so far' : '';
    log.info(`the model after ${shown(pending.name)}: ${metric} ${metrics[metric] ?? 'is missing'}${isBest}`, {
      ...metrics,
    });
    if (next.isStopping && !wasStopping) log.info('no better model is expected: the job ends early');
    await keeper.retain([next.best, next.last].flatMap((model) => (model === undefined ? [] : [model.name])));
  }

  async #tryToScore({ name }: SavedModel): Promise<Metrics> {
    const { context, keeper, stopSignal } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return await keeper.score(name, stopSignal);
      } catch (error) {
        if (stopSignal.aborted || tries >= SCORE_TRIES) throw error;
        context.host.log.error(`the model after ${shown(name)} could not be evaluated: ${(error as Error).message}`);
        await pauseOrAborted(context.host.clock, backoffMs(tries), stopSignal);
      }
    }
  }

  /** False when what must hold does not. */
  async #store(next: EvaluationState, unchanged: Compare | undefined): Promise<boolean> {
    const { context, fence, stopSignal } = this.#options;
    const { keys, store } = context;
    const write = {
      if: unchanged === undefined ? [] : [unchanged],
      then: [{ put: keys.evaluation, value: JSON.stringify(next) }],
    };
    const answer = await retryStore(context, () => fencedTxn(store, fence, write), stopSignal);
    if (answer.succeeded) this.#state = next;
    return answer.succeeded;
  }
}

const shown = (name: string): string => name.replace('-', ' ');

const numbersIn = (metrics: Metrics): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== undefined));
