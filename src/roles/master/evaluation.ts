/** Collects what trainers computed on the test file, and its metrics, in task order. */
import { PaddletError } from '../../base/errors.ts';
import type { Metrics } from '../../cluster/job/job-result.ts';
import { finishMetrics, mergeMetrics, noMetrics, type ScoredRecords } from '../../model/metrics.ts';
import type { MetricSums, Model } from '../../model/model.ts';

/** The good records of a task, scored. */
export interface TaskScores extends ScoredRecords {
  readonly metrics: MetricSums;
}

export interface EvaluationResults {
  /** Of one task; a second attempt's replaces the first's. */
  add(task: number, scored: TaskScores): void;
  finish(): Metrics;
}

export function createEvaluationResults(task: Model['task'], tasks: number): EvaluationResults {
  const parts: (TaskScores | undefined)[] = Array.from({ length: tasks });
  return {
    add(number, scored) {
      if (number >= tasks) throw new PaddletError('BadMessage', `evaluation task ${number}: there are ${tasks}`);
      checkScores(number, scored);
      parts[number] = scored;
    },
    finish() {
      const done = parts.filter((part) => part !== undefined);
      const sums = done.reduce((sum, part) => mergeMetrics(sum, part.metrics), noMetrics);
      return finishMetrics(task, sums, joined(done, sums.records));
    },
  };
}

function checkScores(task: number, { metrics, scores, labels, weights, groups }: TaskScores): void {
  const { records } = metrics;
  const counts = [scores.length, labels.length, weights?.length ?? records, (groups?.length ?? 8 * records) / 8];
  if (counts.some((count) => count !== records)) {
    const [ofScores, ofLabels, ofWeights, ofGroups] = counts;
    const found = `${ofScores} scores, ${ofLabels} labels, ${ofWeights} weights and ${ofGroups} groups`;
    throw new PaddletError('BadMessage', `evaluation task ${task}: ${found} for ${records} records`);
  }
  if (![scores, labels, weights ?? []].every((floats) => floats.every(Number.isFinite))) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: a score, label or weight is not a finite number`);
  }
  if (weights?.some((weight) => weight < 0)) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: a weight is less than 0`);
  }
}

function joined(parts: readonly TaskScores[], records: number): ScoredRecords {
  const floats = (of: (part: TaskScores) => Float32Array): Float32Array => {
    const whole = new Float32Array(records);
    let at = 0;
    for (const part of parts) {
      whole.set(of(part), at);
      at += part.metrics.records;
    }
    return whole;
  };
  return {
    scores: floats(({ scores }) => scores),
    labels: floats(({ labels }) => labels),
    weights: parts.some(({ weights }) => weights !== undefined)
      ? floats(({ weights, metrics }) => weights ?? new Float32Array(metrics.records).fill(1))
      : undefined,
    groups: parts.some(({ groups }) => groups !== undefined) ? joinedGroups(parts, records) : undefined,
  };
}

/** Records of tasks without any group have none: `NO_GROUP`, whose bytes are all 0xff. */
function joinedGroups(parts: readonly TaskScores[], records: number): Uint8Array {
  const whole = new Uint8Array(8 * records).fill(0xff);
  let at = 0;
  for (const { groups, metrics } of parts) {
    if (groups !== undefined) whole.set(groups, 8 * at);
    at += metrics.records;
  }
  return whole;
}
