/** The result of a job, for people. */
import type { JobResult, Metrics } from '../../cluster/job/job-result.ts';

export function resultText(result: JobResult): string {
  const { job, mode, passes, elapsedSeconds, tasks, metrics } = result;
  const { applied, lost, bad, discarded, read, duplicate } = result.records;
  const speed = result.recordsPerSecond.toLocaleString('en');
  const lines = [
    `job ${job} (${mode}) is done: ${passes} passes in ${elapsedSeconds.toFixed(1)} s, ${speed} records/s`,
    `tasks      ${tasks.done} done, ${tasks.discarded} discarded, ${tasks.total} in total`,
    `records    ${applied} applied, ${lost} lost, ${bad} bad, ${discarded} discarded; ${read} read, ${duplicate} duplicate`,
  ];
  if (metrics.train)
    lines.push(`training   ${metricsText(metrics.train)}  (last pass; each record scored before training on it)`);
  if (metrics.test) lines.push(`test       ${metricsText(metrics.test)}`);
  lines.push(`model      ${result.modelDigest}`);
  for (const { index, uuid, bytes } of result.checkpoints) {
    lines.push(`checkpoint pserver ${index}: ${uuid} (${bytes} bytes)`);
  }
  return lines.join('\n');
}

export function metricsText(metrics: Metrics): string {
  const named = (['logloss', 'auc', 'accuracy', 'rmse'] as const)
    .filter((name) => metrics[name] !== undefined)
    .map((name) => `${name} ${metrics[name]!.toFixed(5)}`);
  return `${named.join('  ')}  on ${metrics.records} records`;
}
