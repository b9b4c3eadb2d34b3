/**
 * The gradient of the mini-batches of one push: the mean over all their good records. Each batch has a mean over its
 * own records, so several are summed with weights records / all records. A single batch is passed on as it is.
 */
import type { Gradients, PulledVersions } from '../../../cluster/client/parameter-client.ts';
import type { RoutedIds } from '../../../cluster/client/slicer.ts';
import type { Batch, Model, StepResult } from '../../../model/model.ts';
import { elementCount } from '../../../tensor/blocks.ts';
import { type IdRouter, NO_IDS } from '../../../tensor/id-router.ts';
import type { DenseSpec } from '../../../tensor/spec.ts';
import { uniteIds } from './id-union.ts';

export interface Contribution {
  readonly batch: Batch;
  /** Undefined if the batch has no good record. Nothing else uses its arrays until the gradients were pushed. */
  readonly step: StepResult | undefined;
  /** Versions of the values from which the gradient was computed. */
  readonly versions: PulledVersions;
  /** Set if the values were pulled for this batch alone. */
  readonly routed: RoutedIds | undefined;
}

/**
 * For each pserver the oldest version; where versions cannot be compared, as the pserver restarted, the one pulled
 * first.
 */
export function oldestVersions(contributions: readonly Contribution[]): PulledVersions {
  const oldest = new Map(contributions[0]?.versions);
  for (const { versions } of contributions.slice(1)) {
    for (const [index, one] of versions) {
      const found = oldest.get(index);
      const isOlder = found?.revision === one.revision && one.version < found.version;
      if (found === undefined || isOlder) oldest.set(index, one);
    }
  }
  return oldest;
}

export function accumulateGradients(
  router: IdRouter,
  model: Pick<Model, 'parameters' | 'lookups'>,
  contributions: readonly Contribution[],
): Gradients {
  const { parameters: spec, lookups } = model;
  const filled = contributions.filter(({ step }) => step !== undefined);
  const first = filled[0]?.step;
  if (first === undefined)
    return { dense: spec.dense.map(zeros), sparse: spec.sparse.map(none), ids: lookups.map(() => NO_IDS) };
  const union = uniteIds(
    router,
    model,
    filled.map(({ batch }) => batch),
  );
  if (filled.length === 1) {
    return { dense: first.dense, sparse: first.sparse, ids: union.ids, routed: filled[0]!.routed };
  }
  const total = filled.reduce((sum, { batch }) => sum + batch.records, 0);
  const dense = spec.dense.map(zeros);
  const sparse = spec.sparse.map(({ width }, t) => new Float32Array(union.ids[t]!.count * width));
  filled.forEach(({ batch, step }, i) => {
    const weight = batch.records / total;
    step!.dense.forEach((gradient, p) => {
      addScaled(gradient, weight, dense[p]!);
    });
    step!.sparse.forEach((gradient, t) => {
      addRows(gradient, weight, spec.sparse[t]!.width, union.positions[i]![t]!, sparse[t]!);
    });
  });
  return { dense, sparse, ids: union.ids };
}

const none = (): Float32Array => new Float32Array(0);

const zeros = (parameter: DenseSpec): Float32Array => new Float32Array(elementCount(parameter));

function addScaled(from: Float32Array, weight: number, into: Float32Array): void {
  for (let i = 0; i < from.length; i++) into[i] = into[i]! + weight * from[i]!;
}

function addRows(from: Float32Array, weight: number, width: number, positions: Uint32Array, into: Float32Array): void {
  for (let row = 0; row < positions.length; row++) {
    const at = positions[row]! * width;
    for (let c = 0; c < width; c++) into[at + c] = into[at + c]! + weight * from[row * width + c]!;
  }
}
