/** Scores the records of one task with the present parameters. Changes nothing. */

import type { ParameterClient } from '../../../cluster/client/parameter-client.ts';
import { throwIfAborted } from '../../../cluster/waiting.ts';
import type { TaskRecords } from '../../../data/source.ts';
import { mergeMetrics, noMetrics, type ScoredTask } from '../../../model/metrics.ts';
import { idsOf, type Model } from '../../../model/model.ts';

/** Records of a batch: large enough for few requests, small enough for short pulls. */
export const EVALUATION_BATCH = 4096;

/** The good records in their order; scores are the model's output, see docs/client.md. */
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
