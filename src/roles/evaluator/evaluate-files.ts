/** Scores a dataset with a model, task after task, in this process. */
import type { Clock } from '../../base/seams.ts';
import type { ParameterClient } from '../../cluster/client/parameter-client.ts';
import { modelOf, readingOf } from '../../cluster/job/job-model.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { Metrics } from '../../cluster/job/job-result.ts';
import { inTurns } from '../../cluster/waiting.ts';
import type { BadRecord } from '../../data/bad-record.ts';
import { BadRecordFiles } from '../../data/bad-record-files.ts';
import { noGoodRecord } from '../../data/bad-records.ts';
import { odditiesOf } from '../../data/oddities.ts';
import { oneLabelOddity } from '../../data/one-label.ts';
import type { DataPlace } from '../../data/place.ts';
import type { Selection } from '../../data/selection.ts';
import { createTaskReader } from '../../data/task-reader.ts';
import { type Dataset, labelledRecords, loadDataset, refuseUnlike } from '../master/dataset.ts';
import { EvaluationResults } from '../master/evaluation.ts';
import { EVALUATION_BATCH, evaluateTask } from '../trainer/tasks/evaluate-task.ts';
import { parsedCacheOf } from '../trainer/tasks/task-files.ts';

/** Maximum number of bad records kept of the first task that has some, for a message. */
const KEPT_BAD = 100;

export interface EvaluateOptions {
  readonly place: DataPlace;
  readonly clock: Clock;
  readonly record: JobRecord;
  readonly client: Pick<ParameterClient, 'pull'>;
  readonly files: readonly string[];
  /** Label files of idx data. */
  readonly labels: readonly string[];
  /** The part of the job's files to score; without it all records of the files are scored. */
  readonly part?: Selection['part'] | undefined;
  /** Replaces the `topK` of the job. */
  readonly topK?: number | undefined;
  /** Bad records are listed there; without it they are only logged. */
  readonly jobFolder?: string | undefined;
  readonly signal: AbortSignal;
  readonly onTask: (done: number, total: number) => void;
}

export interface Evaluated {
  readonly metrics: Metrics;
  readonly bad: number;
  readonly dataset: Dataset;
}

export async function evaluateFiles(options: EvaluateOptions): Promise<Evaluated> {
  const { place, clock, record, client, signal, part, topK = record.job.data.topK } = options;
  const model = modelOf(record);
  const dataset = await loadDataset(place, record.job, options.files, options.labels, part);
  refuseUnlike(record.job, record.train, dataset, options.files.join(', '));
  const odd = odditiesOf([dataset.index.traits], { task: model.task });
  const oneLabel = oneLabelOddity(labelledRecords(record.job, 'scored', dataset));
  if (oneLabel !== undefined) odd.push(oneLabel);
  for (const { message, hint } of odd) place.host.log.warn(`${message}: ${hint}`);
  const results = new EvaluationResults({ task: model.task, tasks: dataset.tasks.length, topK });
  const cache = parsedCacheOf(place, record.job);
  const reader = createTaskReader(place, {
    ...readingOf(record, model, part),
    files: dataset.index.files,
    batchSize: EVALUATION_BATCH,
    ...(cache === undefined ? {} : { cache }),
  });
  const { index } = dataset;
  const isTest = index.digest === record.test?.digest;
  const badRecords = new BadRecordFiles(place.host, options.jobFolder, isTest ? record.id : index.digest);
  let bad = 0;
  const first: BadRecord[] = [];
  try {
    for (const [task, chunks] of dataset.tasks.entries()) {
      const records = await reader.read(chunks);
      await badRecords.list({ set: isTest ? 'test' : 'evaluate', task, bad: records.bad });
      bad += records.bad.length;
      if (first.length === 0) first.push(...records.bad.slice(0, KEPT_BAD));
      results.add(task, await evaluateTask(model, client, records, signal));
      options.onTask(task + 1, dataset.tasks.length);
    }
  } finally {
    await reader.close();
  }
  if (bad === index.records) {
    throw noGoodRecord(
      index.files.map(({ path }) => path),
      first,
      record.job.data.format,
    );
  }
  return { metrics: await inTurns(clock, results.finish(), signal), bad, dataset };
}
