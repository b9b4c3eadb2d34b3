/**
 * The data of a job as the master sees it: indexed, cut into tasks, and handed out with the files that a task needs.
 */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DataFacts } from '../../cluster/job/job-record.ts';
import { recordsOfTask } from '../../core/shard/push-plan.ts';
import { refuseAbsent, refuseUntrained } from '../../data/absent-columns.ts';
import { refuseBadStart } from '../../data/first-records.ts';
import { formatOf } from '../../data/formats/registry.ts';
import type { IndexRequest, Selected } from '../../data/index-builder.ts';
import { loadOrBuildIndex } from '../../data/index-file.ts';
import type { LabelRule } from '../../data/labels.ts';
import { type LabelledRecords, refuseOneLabel } from '../../data/one-label.ts';
import type { DataPlace } from '../../data/place.ts';
import type { Selection } from '../../data/selection.ts';
import type { Chunk, DataIndex, IndexedFile } from '../../data/source.ts';
import { cutTasks } from '../../data/tasks.ts';
import { columnSpecOf, type Job, type RequestedJob, selectionOf } from '../../job/schema.ts';
import { taskOf } from '../../model/registry.ts';

/** What a kernel takes as their number. */
const ANY_CLASSES = 2_147_483_647;

export interface Dataset {
  readonly index: DataIndex;
  readonly tasks: readonly (readonly Chunk[])[];
  /** Records of each task, bad ones included. */
  readonly taskRecords: Uint32Array;
  /** Maximum number of tasks of any kind in one answer. */
  readonly tasksAtOnce: number;
}

export interface JobData {
  readonly train: Dataset;
  readonly test: Dataset | undefined;
}

/** Throws `DataMissing`, `DataInvalid`; reads each file once, or a kept index of it. */
export async function loadJobData(place: DataPlace, job: Job): Promise<JobData> {
  const { train, trainLabels, test, testLabels } = job.data;
  const trained = await loadDataset(place, job, train, trainLabels, 'train');
  refuseUntrained(formatOf(job.data.format), trained.index.traits.absentColumns);
  // A model that is taken over knows other classes already: then it is a warning.
  if (job.warmStart === undefined) {
    const source = { what: train, format: job.data.format, columns: columnSpecOf(job) };
    await refuseOneLabel(place, labelledRecords(job, 'training', trained), source);
  }
  const { evaluation } = job;
  // Only whether they can be read: they are evaluated later, by another process.
  if (evaluation !== undefined && evaluation.data.length > 0) {
    const heldOut = await loadDataset(place, job, evaluation.data, evaluation.labels);
    refuseUnlike(job, trainFactsOf(trained), heldOut, 'the files of evaluation.data');
  }
  const isSplit = job.data.split !== undefined;
  if (test.length === 0 && !isSplit) return { train: trained, test: undefined };
  const tested = isSplit
    ? await loadDataset(place, job, train, trainLabels, 'test')
    : await loadDataset(place, job, test, testLabels);
  refuseUnlike(job, trainFactsOf(trained), tested, isSplit ? 'the test records' : 'the test files');
  return { train: trained, test: tested };
}

/** The facts that messages about the labels need. */
export const labelledRecords = ({ model, data }: Job, set: string, { index }: Dataset): LabelledRecords => ({
  set,
  records: index.records,
  traits: index.traits,
  task: taskOf(model),
  columns: data.columns,
});

/** Throws `DataInvalid` for records that lack a column of the training records. */
export function refuseUnlike(job: Job, train: DataFacts, dataset: Dataset, where: string): void {
  refuseOtherWidth(job, train, dataset);
  refuseAbsent({ where, absent: dataset.index.traits.absentColumns, complete: completeIn(train) });
}

/** Columns that every training record has a value of. */
export const completeIn = ({ columns }: DataFacts): readonly string[] => columns?.complete ?? [];

/** Without headers, columns are where they are in the training files. Throws `DataInvalid`. */
function refuseOtherWidth(job: Job, train: DataFacts, { index }: Dataset): void {
  if (job.data.dialect === undefined || job.data.dialect.header) return;
  const wanted = train.columns?.fields;
  const other = index.files.find(({ layout }) => layout !== undefined && layout.fields !== wanted);
  if (other === undefined) return;
  const found = other.layout?.fields;
  throw new PaddletError(
    'DataInvalid',
    `expected ${wanted} fields per line in ${other.path}, as in the training files, got ${found}`,
    {
      hint: 'if files have no header, give all of them the same columns',
    },
  );
}

/**
 * A look at the first records of the training and test files. Throws `TooManyBadRecords` if the job is certain to fail
 * because of them, `DataMissing`, `DataInvalid`.
 */
export async function checkFirstRecords(place: DataPlace, job: RequestedJob): Promise<void> {
  const { data, tasks, training } = job;
  // Tasks that fail may be left out.
  const labels = widestRule(job);
  if (tasks.maxDiscarded > 0 || labels.task === 'multiclass') return;
  const { format, maxBadRecords } = data;
  // A task whose size is still to be chosen has at least a batch.
  const recordsPerTask = data.recordsPerTask === 'auto' ? training.batchSize : data.recordsPerTask;
  const facts = { format, recordsPerTask, maxBadRecords, columns: columnSpecOf(job) };
  for (const what of [data.train, data.test]) {
    const isSelected = what === data.train && selectionOf(job, 'train') !== undefined;
    if (what.length > 0) await refuseBadStart(place, { ...facts, what, labels, isSelected });
  }
}

/** What is left out of the files of a job, for their index. */
export function selectedOf(job: RequestedJob, part: Selection['part']): Selected | undefined {
  const selection = selectionOf(job, part);
  return selection && { selection, labels: widestRule(job) };
}

/** The labels that the model takes, as far as the index can know: how many classes there are follows from it. */
export function widestRule({ model, data }: RequestedJob): LabelRule {
  const task = taskOf(model);
  const weights = data.labelWeights ? { mayHaveWeight: true } : {};
  return task === 'multiclass' ? { task, classes: ANY_CLASSES, ...weights } : { task, ...weights };
}

/** `part`: which records of the job's own files; without it, all records of the files. */
export const indexRequestOf = (
  job: RequestedJob,
  what: readonly string[],
  labels: readonly string[],
  part?: Selection['part'],
): Omit<IndexRequest, 'recordsPerTask'> => ({
  what,
  format: job.data.format,
  columns: columnSpecOf(job),
  selected: part && selectedOf(job, part),
  ...(labels.length === 0 ? {} : { labels }),
});

/** `part`: as for `indexRequestOf`. */
export async function loadDataset(
  place: DataPlace,
  job: Job,
  what: readonly string[],
  labels: readonly string[],
  part?: Selection['part'],
): Promise<Dataset> {
  const { recordsPerTask } = job.data;
  const index = await loadOrBuildIndex(place, { ...indexRequestOf(job, what, labels, part), recordsPerTask });
  const tasks = cutTasks(index, recordsPerTask);
  const taskRecords = Uint32Array.from(tasks, (chunks) => chunks.reduce((sum, chunk) => sum + chunk.records, 0));
  const planned = (task: number): number => recordsOfTask({ records: index.records, recordsPerTask }, task);
  const other = taskRecords.findIndex((records, task) => records !== planned(task));
  if (other >= 0) {
    // Pservers count the records of a task by `/job` alone.
    throw new PaddletError(
      'DataInvalid',
      `expected ${planned(other)} records in task ${other}, got ${taskRecords[other]}`,
      {
        hint: 'the cached index of the data has another version: remove it',
      },
    );
  }
  return { index, tasks, taskRecords, tasksAtOnce: tasksAtOnce({ index, tasks }) };
}

export function factsOf({ index, tasks }: Dataset): DataFacts {
  const { records, featureBound, labelBound, fieldBound, digest } = index;
  return { records, tasks: tasks.length, featureBound, labelBound, fieldBound, digest };
}

/** With what is known of the columns: all data of the job is read with that of the training records. */
export function trainFactsOf(dataset: Dataset): DataFacts {
  const { statistics, files } = dataset.index;
  if (statistics === undefined) return factsOf(dataset);
  const known = statistics.map(({ bounds, ...column }) =>
    bounds === undefined ? column : { ...column, bounds: [...bounds] },
  );
  const [layout] = files.flatMap((file) => file.layout ?? []);
  const complete = dataset.index.traits.completeColumns;
  return { ...factsOf(dataset), columns: { fields: layout?.fields ?? 0, statistics: known, complete } };
}

/** The chunks of a task with only the files that they are in, as they travel: a trainer needs no index. */
export function taskChunks(dataset: Dataset, task: number) {
  const files: IndexedFile[] = [];
  const numbers = new Map<number, number>();
  const chunks = dataset.tasks[task]!.map((chunk) => {
    let file = numbers.get(chunk.file);
    if (file === undefined) {
      file = files.push(dataset.index.files[chunk.file]!) - 1;
      numbers.set(chunk.file, file);
    }
    return { ...chunk, file };
  });
  const sent = files.map(({ path, bytes, records, labels, layout }) => ({
    path,
    bytes,
    records,
    ...(labels === undefined ? {} : { labels: { ...labels } }),
    ...(layout === undefined ? {} : { layout: { fields: layout.fields, positions: [...layout.positions] } }),
  }));
  return { files: sent, chunks };
}

/** Part of a header that is reserved for everything but tasks. */
const OTHER_BYTES = 64 * 1024;
/** Maximum bytes of a chunk or a file without its path: names of fields, and numbers of nine bytes. */
const FIELDS_BYTES = 128;
const POSITION_BYTES = 3;

/** A task of many small files names them all, and an answer with several such tasks may have no room in a frame. */
export function tasksAtOnce({ index, tasks }: Pick<Dataset, 'index' | 'tasks'>): number {
  const named = (path: string): number => FIELDS_BYTES + Buffer.byteLength(path);
  const fileBytes = index.files.map(
    ({ path, labels, layout }) =>
      named(path) +
      (labels === undefined ? 0 : named(labels.path)) +
      (layout === undefined ? 0 : FIELDS_BYTES + POSITION_BYTES * layout.positions.length),
  );
  const taskBytes = (chunks: readonly Chunk[]): number =>
    chunks.reduce((sum, { file }) => sum + FIELDS_BYTES + fileBytes[file]!, FIELDS_BYTES);
  const largest = tasks.reduce((most, chunks) => Math.max(most, taskBytes(chunks)), FIELDS_BYTES);
  const room = Math.floor((LIMITS.frameHeaderBytes - OTHER_BYTES) / largest);
  return Math.min(LIMITS.tasksHeld, Math.max(1, room));
}

const PARTS_NAMED = 3;

/** A task of small files has thousands of parts. */
const listed = (parts: readonly string[]): string =>
  parts.length <= PARTS_NAMED
    ? parts.join(', ')
    : `${parts.slice(0, PARTS_NAMED - 1).join(', ')} and ${parts.length - PARTS_NAMED + 1} more parts`;

/** File and record range, for reports. */
export function describeTask(dataset: Dataset, task: number): string {
  const parts = dataset.tasks[task]!.map((chunk) => {
    const file = dataset.index.files[chunk.file]!.path;
    // In a selection, a record's number does not count the records that are not selected, so the line is shown.
    if (chunk.position !== undefined) return `${file}, ${chunk.records} records from line ${chunk.firstLine} on`;
    return `${file} records ${chunk.firstRecord + 1} to ${chunk.firstRecord + chunk.records}`;
  });
  return listed(parts);
}

/** The records of a task at positions [from, to), by file and chunk, for reports. */
export function describeRecords(dataset: Dataset, task: number, from: number, to: number): string {
  const parts: string[] = [];
  let first = 0;
  for (const [number, chunk] of dataset.tasks[task]!.entries()) {
    const low = Math.max(from, first);
    const high = Math.min(to, first + chunk.records);
    if (low < high) {
      const at = chunk.firstRecord - first + 1;
      const file = dataset.index.files[chunk.file]!.path;
      parts.push(`${file} records ${low + at} to ${high + at - 1} (chunk ${number})`);
    }
    first += chunk.records;
  }
  return listed(parts);
}
