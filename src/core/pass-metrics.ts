/**
 * Sums of metrics in sync mode: of the current pass, of passes before it, and of the whole job up to some rounds, which
 * are points of its curve. They are added round by round in lane order, so their bits are the same in every run; and
 * which of them are kept depends on the round alone.
 */
import type { MetricSums } from '../model/model.ts';
import { spacingOf } from './spacing.ts';

export interface PassMetrics extends MetricSums {
  readonly pass: number;
  /**
   * If set, the sums are of the whole job up to this version of the parameters, in `pass`. Absent: of all of `pass` so
   * far.
   */
  readonly version?: number | undefined;
}

/** The sums of the whole job as they were at one version. */
export interface RoundSample extends PassMetrics {
  readonly version: number;
}

/** Besides these the current pass and the one before it, and the newest sample, to which rounds are added. */
export const PASSES_SAMPLED = 64;
export const ROUNDS_SAMPLED = 128;

export const noSums: MetricSums = { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 };

/** Counts come from outside: one that is no longer a whole number could not be read back. */
export const addMetrics = (a: MetricSums, b: MetricSums): MetricSums => ({
  records: Math.min(Number.MAX_SAFE_INTEGER, a.records + b.records),
  weight: a.weight + b.weight,
  loss: a.loss + b.loss,
  correct: a.correct + b.correct,
  squaredError: a.squaredError + b.squaredError,
});

const isSample = (one: PassMetrics): one is RoundSample => one.version !== undefined;
const isPass = (one: PassMetrics): boolean => one.version === undefined;

export const passIn = (metrics: readonly PassMetrics[], pass: number): PassMetrics | undefined =>
  metrics.find((one) => isPass(one) && one.pass === pass);

/** Passes before the current one, ascending. */
export const endedPasses = (metrics: readonly PassMetrics[], current: number): PassMetrics[] =>
  metrics.filter((one) => isPass(one) && one.pass < current);

/** Points of the curve, ascending. Each stays until the list is thinned. */
export const samplesIn = (metrics: readonly PassMetrics[]): RoundSample[] =>
  keptSamples(metrics, metrics.at(-1)?.version ?? 0);

const keptSamples = (metrics: readonly PassMetrics[], newest: number): RoundSample[] => {
  const every = spacingOf(newest, ROUNDS_SAMPLED);
  return metrics.filter(isSample).filter(({ version }) => version % every === 0);
};

/** A round is complete, with these batches: the parameters are at `version` now. */
export function addRound(
  before: readonly PassMetrics[],
  version: number,
  batches: readonly { readonly position: { readonly pass: number }; readonly metrics: MetricSums }[],
): PassMetrics[] {
  const [first] = batches;
  const added = batches.map(({ metrics }) => metrics);
  const known = before.filter(isPass);
  // All batches of a round are of one pass.
  const passes = first === undefined ? known : addPassMetrics(known, first.position.pass, ...added);
  const newest = before.findLast(isSample);
  const sums = added.reduce(addMetrics, newest ?? noSums);
  const pass = passes.at(-1)?.pass ?? 0;
  return [...passes, ...keptSamples(before, version), { ...sums, pass, version }];
}

export function addPassMetrics(before: readonly PassMetrics[], pass: number, ...sums: MetricSums[]): PassMetrics[] {
  const known = before.find((one) => one.pass === pass);
  const others = before.filter((one) => one.pass !== pass);
  const all = [...others, { pass, ...sums.reduce<MetricSums>(addMetrics, known ?? noSums) }].sort(
    (a, b) => a.pass - b.pass,
  );
  const every = spacingOf(all.at(-1)!.pass, PASSES_SAMPLED);
  return all.filter((one, at) => at >= all.length - 2 || (one.pass + 1) % every === 0);
}
