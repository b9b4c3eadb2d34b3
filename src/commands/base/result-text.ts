/** The result of a job, for people. */
import type { JobResult, Metrics } from '../../cluster/job/job-result.ts';

export function resultText(result: JobResult): string {
  const { tasks, records, metrics } = result;
  const lines = [
    `job ${result.job} (${result.mode}) is done: ${result.passes} passes in ${result.elapsedSeconds.toFixed(1)} s, ${result.recordsPerSecond.toLocaleString('en')} records/s`,
    `tasks      ${tasks.done} done, ${tasks.discarded} discarded, ${tasks.total} in all`,
    `records    ${records.applied} applied, ${records.lost} lost, ${records.bad} bad, ${records.discarded} discarded; ${records.read} read, ${records.duplicate} duplicate`,
  ];
  if (metrics.train)
    lines.push(`training   ${metricsText(metrics.train)}  (last pass, each record before it was learnt)`);
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
