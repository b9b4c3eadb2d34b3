/** Collects what trainers computed on the test file, and its metrics, in task order. */
import { PaddletError } from '../../base/errors.ts';
import type { Metrics } from '../../cluster/job/job-result.ts';
import { finishMetrics, mergeMetrics, noMetrics, type ScoredTask } from '../../model/metrics.ts';
import type { Model, ScoredRecords } from '../../model/model.ts';

export interface EvaluationResults {
  /** Of one task; a second attempt's replaces the first's. */
  add(task: number, scored: ScoredTask): void;
  finish(): Metrics;
}

export function createEvaluationResults(task: Model['task'], tasks: number): EvaluationResults {
  const parts: (ScoredTask | undefined)[] = Array.from({ length: tasks });
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

function checkScores(task: number, { metrics, scores, labels, weights, groups }: ScoredTask): void {
  const { records } = metrics;
  const counts = [scores.length, labels.length, weights?.length ?? records, (groups?.length ?? 8 * records) / 8];
  if (counts.some((count) => count !== records)) {
    const [ofScores, ofLabels, ofWeights, ofGroups] = counts;
    const found = `${ofScores} scores, ${ofLabels} labels, ${ofWeights} weights and ${ofGroups} groups`;
    throw new PaddletError('BadMessage', `evaluation task ${task}: ${found} for ${records} records`);
  }
  if (weights === undefined && metrics.weight !== records) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: ${records} records of weight ${metrics.weight}`);
  }
  if (![scores, labels, weights ?? []].every((floats) => floats.every(Number.isFinite))) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: a score, label or weight is not a finite number`);
  }
  if (weights?.some((weight) => weight < 0)) {
    throw new PaddletError('BadMessage', `evaluation task ${task}: a weight is less than 0`);
  }
}

function joined(parts: readonly ScoredTask[], records: number): ScoredRecords {
  /** Puts what each part has behind each other; where one has nothing, `whole` stays as it is. */
  const put = <A extends Float32Array | Uint8Array>(whole: A, of: (part: ScoredTask) => A | undefined): A => {
    let at = 0;
    for (const part of parts) {
      const own = of(part);
      if (own !== undefined) whole.set(own, at);
      at += (part.metrics.records * whole.length) / records;
    }
    return whole;
  };
  const [hasWeights, hasGroups] = [parts.some(({ weights }) => weights), parts.some(({ groups }) => groups)];
  return {
    scores: put(new Float32Array(records), ({ scores }) => scores),
    labels: put(new Float32Array(records), ({ labels }) => labels),
    weights: hasWeights ? put(new Float32Array(records).fill(1), ({ weights }) => weights) : undefined,
    // All bits: no group.
    groups: hasGroups ? put(new Uint8Array(8 * records).fill(0xff), ({ groups }) => groups) : undefined,
  };
}
