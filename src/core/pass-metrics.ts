/**
 * Sums of metrics of the current pass and of the pass before it. They are added round by round in lane order, so their
 * bits are the same in every run.
 */
import type { MetricSums } from '../model/model.ts';

export interface PassMetrics extends MetricSums {
  readonly pass: number;
}

const PASSES_KEPT = 2;

export function addPassMetrics(before: readonly PassMetrics[], pass: number, sums: MetricSums): PassMetrics[] {
  const known = before.find((one) => one.pass === pass);
  const others = before.filter((one) => one.pass !== pass);
  const added: PassMetrics = {
    pass,
    records: (known?.records ?? 0) + sums.records,
    weight: (known?.weight ?? 0) + sums.weight,
    loss: (known?.loss ?? 0) + sums.loss,
    correct: (known?.correct ?? 0) + sums.correct,
    squaredError: (known?.squaredError ?? 0) + sums.squaredError,
  };
  return [...others, added].sort((a, b) => a.pass - b.pass).slice(-PASSES_KEPT);
}
