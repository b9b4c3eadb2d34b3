/** Scores the records of one task with the present parameters. Changes nothing. */

import { PaddletError } from '../../../base/errors.ts';
import type { ParameterClient } from '../../../cluster/client/parameter-client.ts';
import { throwIfAborted } from '../../../cluster/waiting.ts';
import type { TaskRecords } from '../../../data/source.ts';
import { mergeMetrics, noMetrics, type ScoredTask } from '../../../model/metrics.ts';
import { idsOf, type Model, type PulledValues } from '../../../model/model.ts';
import { areFinite } from '../../../tensor/finite-array.ts';

/** Records of a batch: large enough for few requests, small enough for short pulls. */
export const EVALUATION_BATCH = 4096;

/**
 * The good records in their order; scores are the model's output, see docs/client.md. Throws `ModelNotFinite` when a
 * score, or a sum over them, is NaN or infinite.
 */
export async function evaluateTask(
  model: Model,
  client: Pick<ParameterClient, 'pull'> & Partial<Pick<ParameterClient, 'recycle'>>,
  records: TaskRecords,
  signal: AbortSignal,
): Promise<ScoredTask> {
  const good = records.goodBefore(records.records);
  const scores = new Float32Array(good);
  const labels = new Float32Array(good);
  let weights: Float32Array | undefined;
  let groups: Uint8Array | undefined;
  let metrics = noMetrics;
  let at = 0;
  for (let from = 0; from < records.records; from += EVALUATION_BATCH) {
    throwIfAborted(signal);
    const batch = records.batch(from, Math.min(from + EVALUATION_BATCH, records.records));
    if (batch.records === 0) continue;
    const values = await client.pull(idsOf(model, batch), signal);
    const result = model.evaluate(batch, values);
    if (!areFinite(result.scores) || !Object.values(result.metrics).every(Number.isFinite)) {
      const bad = result.scores.findIndex((score) => !Number.isFinite(score));
      throw notFinite(placeOf(records, records.goodBefore(from) + Math.max(bad, 0)), model, values);
    }
    client.recycle?.(values);
    scores.set(result.scores, at);
    labels.set(batch.labels.subarray(0, batch.records), at);
    if (batch.weights !== undefined) {
      weights ??= new Float32Array(good).fill(1);
      weights.set(batch.weights, at);
    }
    if (batch.groups !== undefined) {
      groups ??= new Uint8Array(8 * good).fill(0xff);
      groups.set(batch.groups, 8 * at);
    }
    at += batch.records;
    metrics = mergeMetrics(metrics, result.metrics);
  }
  return { metrics, scores, labels, weights, groups };
}

/** File and line of a good record. */
function placeOf(records: TaskRecords, good: number): string {
  let position = 0;
  while (records.goodBefore(position + 1) <= good) position += 1;
  return records.describe(position, position + 1);
}

function notFinite(record: string, { parameters }: Model, { dense, sparse }: PulledValues): PaddletError {
  const named = (specs: readonly { readonly name: string }[], arrays: readonly Float32Array[]): string[] =>
    specs.flatMap(({ name }, at) => (areFinite(arrays[at]!) ? [] : [name]));
  const names = [...named(parameters.dense, dense), ...named(parameters.sparse, sparse)];
  const why = names.length > 0 ? `values of ${names.join(', ')} are NaN or infinite` : 'its finite values overflow';
  return new PaddletError('ModelNotFinite', `${record}: the score of the model is not a finite number: ${why}`, {
    hint: 'train again with a lower optimizer.learningRate, with training.maxGradientNorm, or with smaller values',
  });
}
