/** The result of a job, for people. */
import { LIMITS } from '../../base/limits.ts';
import type { JobResult, KeptModel, Metrics } from '../../cluster/job/job-result.ts';
import type { ClassWeights } from '../../data/class-weights.ts';
import { limitedTableText } from './limited-table-text.ts';
import { type Listed, listedText } from './listed-bad-records.ts';

/** `classWeights`: those of the job. */
export function resultText(result: JobResult & Listed, classWeights?: ClassWeights): string {
  const { job, mode, passes, elapsedSeconds, tasks, metrics } = result;
  const { applied, lost, bad, discarded, read, duplicate } = result.records;
  const early = result.evaluation?.isStoppedEarly === true ? ' (stopped early)' : '';
  const speed = result.recordsPerSecond.toLocaleString('en');
  const lines = [
    // The time counts stops and pauses, the rate training alone.
    `job ${job} (${mode}) is done: ${passes} passes${early} at ${speed} records/s, ${elapsedSeconds.toFixed(1)} s after its start`,
    `tasks      ${tasks.done} done, ${tasks.discarded} discarded, ${tasks.total} in total`,
    `records    ${applied} applied, ${lost} lost, ${bad} bad, ${discarded} discarded; ${read} read, ${duplicate} duplicate`,
  ];
  lines.push(...listedText(result));
  if (metrics.train)
    lines.push(`training   ${metricsText(metrics.train)}  (last pass; each record scored before training on it)`);
  if (metrics.test) lines.push(`test       ${scoredText(metrics.test)}`);
  if (result.evaluation?.best) lines.push(bestText(result.evaluation.best));
  for (const table of result.tables ?? []) lines.push(`table      ${limitedTableText(table)}`);
  const useless = metrics.test ? whyUseless(metrics.test, classWeights) : whyUseless(metrics.train);
  if (useless !== undefined) lines.push(`warning    ${useless}`);
  lines.push(`model      ${result.modelDigest}`);
  for (const { index, uuid, bytes } of result.checkpoints) {
    lines.push(`checkpoint pserver ${index}: ${uuid} (${bytes} bytes)`);
  }
  return lines.join('\n');
}

/** A model that was kept while the job trained. */
const bestText = ({ passes, rounds, checkpoint, metrics }: KeptModel): string =>
  `best       ${metricsText(metrics)}  (after ${pointText({ passes, rounds })}: ${checkpoint})`;

/** How far training had come. */
export const pointText = ({ passes, rounds }: Pick<KeptModel, 'passes' | 'rounds'>): string =>
  rounds === undefined ? `pass ${passes}` : `round ${rounds}, pass ${passes}`;

/** Metrics as they are shown: the heading, the name in JSON, the decimals. */
export const SHOWN_METRICS = [
  ['logloss', 'logloss', 5],
  ['auc', 'auc', 5],
  ['grouped auc', 'groupedAuc', 5],
  ['hr', 'hitRate', 5],
  ['ndcg', 'ndcg', 5],
  ['accuracy', 'accuracy', 5],
  ['rmse', 'rmse', 5],
  ['calibration', 'calibration', 3],
] as const;

export function metricsText(metrics: Metrics): string {
  const named = SHOWN_METRICS.filter(([, name]) => metrics[name] !== undefined).map(
    ([shown, name, digits]) =>
      `${shown}${atText(name, metrics)} ${metrics[name]!.toFixed(digits)}${name === 'auc' ? boundText(metrics) : ''}`,
  );
  return [...named, `on ${metrics.records} records`].join('  ');
}

/** As in the literature: HR@10. */
export const atText = (name: string, { topK }: Pick<Metrics, 'topK'>): string =>
  name === 'hitRate' || name === 'ndcg' ? `@${topK}` : '';

/** Rounded up, and by as much as the area may be rounded: it is a bound as it is shown, too. */
const boundText = ({ aucBound }: Metrics): string =>
  aucBound === undefined ? '' : ` ± ${(Math.ceil(aucBound * 1e5 + 0.5) / 1e5).toFixed(5)}`;

/** Metrics of records whose scores are all known: says why one is missing. */
export const scoredText = (metrics: Metrics): string => `${metricsText(metrics)}${whyMissing(metrics)}`;

/** Not once for all: the first number in this form costs 10 ms, and each process has this module. */
const exactRecords = (): string => LIMITS.exactAucRecords.toLocaleString('en');

function whyMissing(metrics: Metrics): string {
  const { records, logloss, rmse, auc, aucBound } = metrics;
  if (records > 0 && logloss === undefined && rmse === undefined) return '  (no metrics: all weights are 0)';
  if (aucBound !== undefined)
    return `  (auc from a histogram, and no metrics by group: more than ${exactRecords()} records)`;
  return isBinary(metrics) && auc === undefined ? '  (no auc: all labels with a weight are the same)' : '';
}

const isBinary = ({ logloss, rmse }: Metrics): boolean => logloss !== undefined && rmse !== undefined;

/** Loss of a binary model that predicts ½ for every record. */
const COIN_LOGLOSS = Math.LN2;
/** A model that has learned nothing yet is there, but for its rounding. */
const CLEARLY = 1.01;

/** Only of two classes: what a constant reaches on others is not known here. */
function whyUseless(metrics: Metrics | undefined, classWeights?: ClassWeights): string | undefined {
  if (metrics === undefined || !isBinary(metrics) || metrics.logloss! <= COIN_LOGLOSS * CLEARLY) return undefined;
  const figures = `a logloss of ${metrics.logloss!.toFixed(5)} is worse than ${COIN_LOGLOSS.toFixed(5)}`;
  const remedies = 'scale the values, or lower optimizer.learningRate';
  const worse = `${figures}, the logloss of predicting ½ for every record`;
  if (classWeights === undefined) return `${worse}: ${remedies}`;
  return (
    `${worse}: training.classWeights raises the logloss of test records, which have no class weights. ` +
    `Compare auc, or lower the class weights; otherwise ${remedies}`
  );
}
