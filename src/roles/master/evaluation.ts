/** Collects what trainers computed on the test file, and its metrics, in task order. */
import { PaddletError } from '../../base/errors.ts';
import type { Metrics } from '../../cluster/job/job-result.ts';
import { finishMetrics, mergeMetrics, noMetrics } from '../../model/metrics.ts';
import type { MetricSums, Model } from '../../model/model.ts';

export interface EvaluationResults {
  /** Of one task; a second attempt's replaces the first's. */
  add(task: number, metrics: MetricSums, scores: Float32Array, labels: Float32Array): void;
  finish(): Metrics;
}

export function createEvaluationResults(task: Model['task'], tasks: number): EvaluationResults {
  const parts: ({ metrics: MetricSums; scores: Float32Array; labels: Float32Array } | undefined)[] = Array.from({
    length: tasks,
  });
  return {
    add(number, metrics, scores, labels) {
      if (number >= tasks) throw new PaddletError('BadMessage', `evaluation task ${number}: there are ${tasks}`);
      if (scores.length !== metrics.records || labels.length !== metrics.records) {
        throw new PaddletError(
          'BadMessage',
          `${scores.length} scores and ${labels.length} labels for ${metrics.records} records`,
        );
      }
      if (![scores, labels].every((floats) => floats.every(Number.isFinite))) {
        throw new PaddletError('BadMessage', `evaluation task ${number}: a score or a label is not a finite number`);
      }
      parts[number] = { metrics, scores, labels };
    },
    finish() {
      const done = parts.filter((part) => part !== undefined);
      const sums = done.reduce((sum, part) => mergeMetrics(sum, part.metrics), noMetrics);
      const scores = concatenate(
        done.map((part) => part.scores),
        sums.records,
      );
      const labels = concatenate(
        done.map((part) => part.labels),
        sums.records,
      );
      return finishMetrics(task, sums, scores, labels);
    },
  };
}

function concatenate(parts: readonly Float32Array[], length: number): Float32Array {
  const whole = new Float32Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
