/**
 * Evaluation while a job trains: where training halts to be saved, which of the saved models is the best, and when
 * no better one is expected (early stopping). Halts and decisions depend on how far training has come and on the
 * scores alone, so in sync mode they are a function of the job.
 *
 * A model is scored while training continues to the next point, and known there: what is decided at one point ends the
 * job at the next one.
 */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import type { EvaluationMetric } from '../model/metrics.ts';

/** How far training has come. */
export interface Reached {
  /** Complete passes. */
  readonly passes: number;
  /** Sync mode: complete rounds. */
  readonly rounds?: number | undefined;
}

export interface EvaluationRule {
  readonly everyPasses?: number | undefined;
  /** Sync mode only, in place of `everyPasses`. */
  readonly everyRounds?: number | undefined;
  /** The metric that ranks models. */
  readonly metric: EvaluationMetric;
  /** The job stops after this many models in a row without improvement. */
  readonly patience?: number | undefined;
  /** By how much a better one must differ, at least. */
  readonly minDelta: number;
}

const HIGHER_IS_BETTER: ReadonlySet<EvaluationMetric> = new Set(['auc', 'groupedAuc', 'hitRate', 'ndcg', 'accuracy']);

const count = z.int().min(0);

const reachedSchema = z.strictObject({ passes: count, rounds: count.optional() });
const savedSchema = z.strictObject({
  ...reachedSchema.shape,
  /** Records of all passes until then. */
  trained: count,
  /** Name of the folder that has the files of the model. */
  name: z.string().min(1).max(LIMITS.nameCharacters),
});
const scoredSchema = z.strictObject({
  ...savedSchema.shape,
  metrics: z.record(z.string().max(LIMITS.evaluationCharacters), z.number()),
});
export const evaluationStateSchema = z.strictObject({
  /** Where training halts next: it has been let go up to there, whatever was known since. */
  until: reachedSchema.optional(),
  /** Saved, and not scored yet. */
  pending: savedSchema.optional(),
  last: scoredSchema.optional(),
  best: scoredSchema.optional(),
  /** Models in a row that were no better than the best. */
  worse: count,
  /** No better model is expected: the job ends where training halts next, or has ended there. */
  isStopping: z.boolean(),
});

/** A model that was saved at a point, whose files are kept under a name. */
export type SavedModel = Readonly<z.infer<typeof savedSchema>>;
export type ScoredModel = Readonly<z.infer<typeof scoredSchema>>;
export type EvaluationState = Readonly<z.infer<typeof evaluationStateSchema>>;

export const NO_EVALUATIONS: EvaluationState = { worse: 0, isStopping: false };

/** The newest model that was saved; undefined before the first one. */
export const newestOf = ({ pending, last }: EvaluationState): SavedModel | undefined => pending ?? last;

/** What points are among: in sync mode rounds, else passes. */
export interface TrainingLength {
  readonly passes: number;
  /** Sync mode: the first round of a pass, and the complete passes at a round. */
  readonly rounds?: { firstOf(pass: number): number; passesAt(round: number): number } | undefined;
}

const START: Reached = { passes: 0, rounds: 0 };

/** Where a job ends that is not evaluated. */
export const endOf = (length: TrainingLength): Reached => atPass(length.passes, length);

/** Where training halts. Once it has been let go there, nothing that is known later moves the point. */
export const haltOf = (rule: EvaluationRule, { until }: EvaluationState, length: TrainingLength): Reached =>
  until ?? nextPoint(rule, START, length);

/** With a model that was saved where training halts: it may go on to the point after that. */
export function withSaved(
  rule: EvaluationRule,
  state: EvaluationState,
  pending: SavedModel,
  length: TrainingLength,
): EvaluationState {
  return goingOn(rule, { ...state, pending }, pending, length);
}

/** It may go on from where it has halted, and what was saved: to the next point, unless the job ends. */
export function goingOn(
  rule: EvaluationRule,
  state: EvaluationState,
  { passes, rounds }: Reached,
  length: TrainingLength,
): EvaluationState {
  const at: Reached = rounds === undefined ? { passes } : { passes, rounds };
  if (isEnd(at, state, length)) return { ...state, until: at };
  return { ...state, until: state.isStopping ? atPass(passes + 1, length) : nextPoint(rule, at, length) };
}

function nextPoint(rule: EvaluationRule, from: Reached, length: TrainingLength): Reached {
  const { rounds } = length;
  if (rule.everyRounds === undefined || rounds === undefined) {
    return atPass(nextMultiple(from.passes, rule.everyPasses ?? 1), length);
  }
  const round = nextMultiple(from.rounds ?? 0, rule.everyRounds);
  return round >= rounds.firstOf(length.passes)
    ? atPass(length.passes, length)
    : { passes: rounds.passesAt(round), rounds: round };
}

/** Whether the job ends at this point. */
export const isEnd = (at: Reached, { isStopping }: EvaluationState, length: TrainingLength): boolean =>
  at.passes >= length.passes || (isStopping && isPassEnd(at, length));

export const isSamePoint = (a: Reached | undefined, b: Reached): boolean =>
  a !== undefined && a.passes === b.passes && a.rounds === b.rounds;

const nextMultiple = (after: number, step: number): number => (Math.floor(after / step) + 1) * step;

function isPassEnd({ passes, rounds }: Reached, length: TrainingLength): boolean {
  return rounds === undefined || length.rounds === undefined || length.rounds.firstOf(passes) === rounds;
}

function atPass(pass: number, { passes, rounds }: TrainingLength): Reached {
  const end = Math.min(pass, passes);
  return rounds === undefined ? { passes: end } : { passes: end, rounds: rounds.firstOf(end) };
}

/** With the scores of the model that was pending. */
export function withScores(
  rule: EvaluationRule,
  state: EvaluationState,
  metrics: ScoredModel['metrics'],
): EvaluationState {
  const { pending, best } = state;
  if (pending === undefined) return state;
  const last: ScoredModel = { ...pending, metrics };
  const { until, isStopping } = state;
  const kept = until === undefined ? {} : { until };
  if (isBetter(rule, last, best)) return { ...kept, last, best: last, worse: 0, isStopping };
  const worse = state.worse + 1;
  const isEnough = rule.patience !== undefined && worse >= rule.patience;
  return { ...kept, last, ...(best === undefined ? {} : { best }), worse, isStopping: isStopping || isEnough };
}

/** A model without the metric is never better. */
function isBetter({ metric, minDelta }: EvaluationRule, model: ScoredModel, best: ScoredModel | undefined): boolean {
  const now = model.metrics[metric];
  const before = best?.metrics[metric];
  if (now === undefined || before === undefined) return now !== undefined;
  const gain = HIGHER_IS_BETTER.has(metric) ? now - before : before - now;
  return gain > minDelta;
}

/**
 * For a job that gets more passes: forgets what stopped the job, or was about to. Training still halts where it was to.
 */
export const continued = (state: EvaluationState): EvaluationState => ({ ...state, worse: 0, isStopping: false });
