/** A job's model in plain form, and the records of its tasks as trainers read them. */
import { modelColumnsOf, rowsOf } from '../../src/data/columns/inputs.ts';
import { RowMaker } from '../../src/data/columns/rows.ts';
import { loadOrBuildIndex } from '../../src/data/index-file.ts';
import type { DataPlace } from '../../src/data/place.ts';
import type { Selection } from '../../src/data/selection.ts';
import type { DataIndex, TaskRecords } from '../../src/data/source.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { columnSpecOf, type Job, selectionOf } from '../../src/job/schema.ts';
import type { Model } from '../../src/model/model.ts';
import type { ModelFacts } from '../../src/model/registry.ts';
import { referenceModel } from '../model/reference.ts';

export interface Loaded {
  readonly model: Model;
  /** What the model was made from. */
  readonly facts: ModelFacts;
  readonly tasks: readonly TaskRecords[];
}

export async function readJob(job: Job, place: DataPlace): Promise<Loaded> {
  const { train, trainLabels, test, testLabels, recordsPerTask } = job.data;
  const selection = selectionOf(job, 'train');
  const index = await indexOf(job, place, train, trainLabels, selection);
  const tested = test.length === 0 ? undefined : await indexOf(job, place, test, testLabels);
  const classes = Math.max(index.labelBound, tested?.labelBound ?? 0);
  const spec = columnSpecOf(job);
  const known = spec && { columns: spec.columns, statistics: index.statistics ?? [] };
  const facts = {
    inputWidth: known === undefined ? Number(index.featureBound) : new RowMaker(known).width,
    classes,
    fields: index.fieldBound,
    seed: job.training.seed,
    columns: known && modelColumnsOf(known.columns, known.statistics),
  };
  const model = referenceModel(job.model, facts);
  const { input, readsFields, reads, task } = model;
  const weights = { mayHaveWeight: job.data.labelWeights };
  const reader = createTaskReader(place, {
    format: job.data.format,
    files: index.files,
    labels: task === 'multiclass' ? { task, classes, ...weights } : { task, ...weights },
    inputWidth: known && reads ? rowsOf(known, reads.numbers).width : facts.inputWidth,
    readsFields,
    batchSize: job.training.batchSize,
    selection,
    ...(spec && known && { columns: { ...spec, ...known, input, readsFields, reads } }),
  });
  const tasks: TaskRecords[] = [];
  for (const chunks of cutTasks(index, recordsPerTask)) tasks.push(await reader.read(chunks));
  await reader.close();
  return { model, facts, tasks };
}

function indexOf(
  job: Job,
  place: DataPlace,
  what: readonly string[],
  labels: readonly string[],
  selection?: Selection,
): Promise<DataIndex> {
  const { format, recordsPerTask } = job.data;
  const columns = columnSpecOf(job);
  // Only binary models have what labels decide.
  const selected = selection && { selection, labels: { task: 'binary' as const } };
  const ofLabels = labels.length === 0 ? {} : { labels };
  return loadOrBuildIndex(place, { what, format, recordsPerTask, columns, selected, ...ofLabels });
}
