/** Collects what trainers computed on the test files, and its metrics, in task order. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { PIECE, type Steps } from '../../base/steps.ts';
import type { Metrics } from '../../cluster/job/job-result.ts';
import { type CalibrationSums, calibrationOf, calibrationSums } from '../../model/calibration.ts';
import { finishMetrics, mergeMetrics, noMetrics, type ScoredTask, type ScoreMetrics } from '../../model/metrics.ts';
import type { MetricSums, Model, ScoredRecords } from '../../model/model.ts';
import { orderMetrics } from '../../model/order-metrics.ts';
import { ScoreHistogram } from '../../model/score-histogram.ts';

interface TaskSums extends CalibrationSums {
  readonly metrics: MetricSums;
}

export interface EvaluationOptions {
  readonly task: Model['task'];
  /** Number of tasks of the evaluation. */
  readonly tasks: number;
  /** Cutoff k of the ranking metrics (binary models with groups). */
  readonly topK: number;
  readonly exactRecords?: number;
}

/** Tasks counted into the histogram per task that comes: more than one, so that the kept scores shrink to none. */
const POURED_AT_ONCE = 2;

/**
 * The scores of up to `exactRecords` good records are kept, for an exact AUC and metrics of groups; those of more are
 * counted in a histogram as they come. In which order tasks come does not matter: what adds up rounded sums goes by the
 * order of tasks, but for sums of weights in a bin (`score-histogram.ts`).
 */
export class EvaluationResults {
  readonly #task: Model['task'];
  readonly #topK: number;
  readonly #exactRecords: number;
  readonly #sums: (TaskSums | undefined)[];
  /** By task, of binary models: what is not in the histogram. */
  readonly #kept = new Map<number, ScoredRecords>();
  #records = 0;
  #histogram: ScoreHistogram | undefined;

  constructor({ task, tasks, topK, exactRecords = LIMITS.exactAucRecords }: EvaluationOptions) {
    this.#task = task;
    this.#topK = topK;
    this.#exactRecords = exactRecords;
    this.#sums = Array.from({ length: tasks });
  }

  /**
   * Adds the result of one task. A second result of the same task changes nothing: parameters do not change while tasks
   * are evaluated, so it has the same bits, and a histogram cannot give back the first one.
   */
  add(number: number, scored: ScoredTask): void {
    const tasks = this.#sums.length;
    if (number >= tasks)
      throw new PaddletError('BadMessage', `evaluation task ${number}: the evaluation has only ${tasks} tasks`);
    checkScores(this.#task, number, scored);
    if (this.#sums[number] !== undefined) return;
    this.#sums[number] = { metrics: scored.metrics, ...calibrationSums(scored) };
    if (this.#task !== 'binary') return;
    this.#kept.set(number, scored);
    this.#records += scored.metrics.records;
    if (this.#records > this.#exactRecords) this.#pour();
  }

  #pour(): ScoreHistogram {
    this.#histogram ??= new ScoreHistogram();
    for (const [number, scored] of [...this.#kept.entries().take(POURED_AT_ONCE)]) {
      this.#histogram.add(scored);
      this.#kept.delete(number);
    }
    return this.#histogram;
  }

  *finish(): Steps<Metrics> {
    const done = this.#sums.filter((part) => part !== undefined);
    const sums = done.reduce((sum, part) => mergeMetrics(sum, part.metrics), noMetrics);
    if (this.#task !== 'binary' || sums.weight === 0) return finishMetrics(this.#task, sums, {});
    return finishMetrics(this.#task, sums, { ...(yield* this.#ofOrder()), ...calibrationOf(done) });
  }

  *#ofOrder(): Steps<ScoreMetrics> {
    if (this.#records <= this.#exactRecords) {
      const parts = [...this.#kept].sort(([a], [b]) => a - b).map(([, scored]) => scored);
      return yield* orderMetrics(yield* joined(parts, this.#records), this.#topK);
    }
    for (; this.#kept.size > 0; yield) this.#pour();
    return this.#histogram?.area() ?? {};
  }
}

function checkScores(model: Model['task'], task: number, { metrics, ...scored }: ScoredTask): void {
  const { scores, labels, weights, groups } = scored;
  const { records } = metrics;
  const counts = [scores.length, labels.length, weights?.length ?? records, (groups?.length ?? 8 * records) / 8];
  if (counts.some((count) => count !== records)) {
    const [ofScores, ofLabels, ofWeights, ofGroups] = counts;
    const found = `${ofScores} scores, ${ofLabels} labels, ${ofWeights} weights and ${ofGroups} groups`;
    throw new PaddletError('BadMessage', `evaluation task ${task}: ${found} for ${records} records`);
  }
  if (weights === undefined && metrics.weight !== records) {
    throw new PaddletError(
      'BadMessage',
      `evaluation task ${task}: expected weight ${records} for ${records} records without weights, got ${metrics.weight}`,
    );
  }
  if (![scores, labels, weights ?? []].every((floats) => floats.every(Number.isFinite))) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: a score, label or weight is not a finite number`);
  }
  if (weights?.some((weight) => weight < 0)) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: expected weights of at least 0`);
  }
  const other = labels.find((label) => !isLabelOf(model, label));
  if (other !== undefined) {
    const wanted = model === 'binary' ? '0 or 1' : 'a class number';
    throw new PaddletError('BadMessage', `evaluation task ${task}: expected a label of ${wanted}, got ${other}`);
  }
  const wrong = model === 'binary' ? scores.find((score) => score < 0 || score > 1) : undefined;
  if (wrong !== undefined) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: expected a score from 0 to 1, got ${wrong}`);
  }
}

const isLabelOf = (model: Model['task'], label: number): boolean =>
  model === 'regression' || (model === 'binary' ? label === 0 || label === 1 : Number.isInteger(label) && label >= 0);

/** Behind each other. A part that lacks what others have gets weights of 1, or no groups. */
function* joined(parts: readonly ScoredRecords[], records: number): Steps<ScoredRecords> {
  const scores = new Float32Array(records);
  const labels = new Float32Array(records);
  const weights = parts.some((part) => part.weights) ? new Float32Array(records).fill(1) : undefined;
  // All bits: no group.
  const groups = parts.some((part) => part.groups) ? new Uint8Array(8 * records).fill(0xff) : undefined;
  let at = 0;
  let sinceYield = 0;
  for (const part of parts) {
    scores.set(part.scores, at);
    labels.set(part.labels, at);
    if (part.weights !== undefined) weights?.set(part.weights, at);
    if (part.groups !== undefined) groups?.set(part.groups, 8 * at);
    at += part.scores.length;
    sinceYield += part.scores.length;
    if (sinceYield < PIECE) continue;
    sinceYield = 0;
    yield;
  }
  return { scores, labels, weights, groups };
}
