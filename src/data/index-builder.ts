/**
 * Builds the index of a dataset: each file is read once, in order, and its records are cut into chunks. What the index
 * says follows from the content of the files, their names and recordsPerTask alone, so any process gets the same
 * digest.
 */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { PaddletError } from '../base/errors.ts';
import { ChunkCutter } from './chunk-cutter.ts';
import { type ColumnSpec, slotsOf } from './columns/column.ts';
import { StatisticsBuilder } from './columns/statistics.ts';
import type { Bounds, FoundFiles, WantedFiles } from './formats/format.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import type { LabelRule } from './labels.ts';
import { noTraits } from './oddities.ts';
import type { DataPlace } from './place.ts';
import type { Selection } from './selection.ts';
import type { DataIndex } from './source.ts';

/** Labels may decide which records stay, so what the model takes goes with it. */
export interface Selected {
  readonly selection: Selection;
  readonly labels: LabelRule;
}

export interface IndexRequest extends WantedFiles {
  readonly format: DataFormat;
  readonly recordsPerTask: number;
  /** Present for formats with columns. */
  readonly columns?: ColumnSpec | undefined;
  /** Which records of the files are records of the dataset; all without it. */
  readonly selected?: Selected | undefined;
  /** Called with the length of each stretch of decompressed bytes. */
  readonly onBytes?: (count: number) => void;
}

/**
 * Throws `DataMissing`, `DataInvalid` (corrupt gzip, of another format, no record at all), `DataChanged`,
 * `DataCacheFailed`. Bad lines are records here; they are found when their task is read.
 */
export async function buildIndex(place: DataPlace, request: IndexRequest): Promise<DataIndex> {
  return await indexFiles(place, await findFiles(place, request), request);
}

/** The files of a request, with their files of labels. Throws `DataMissing`, and what opening a file may throw. */
export const findFiles = (place: DataPlace, request: WantedFiles & Pick<IndexRequest, 'format'>): Promise<FoundFiles> =>
  formatOf(request.format).find(place, request);

/** `buildIndex` for files already found. */
export async function indexFiles(
  place: DataPlace,
  found: FoundFiles,
  request: Omit<IndexRequest, 'what'>,
): Promise<DataIndex> {
  const { format, recordsPerTask, columns, selected, onBytes = () => {} } = request;
  assert(Number.isInteger(recordsPerTask) && recordsPerTask >= 1, 'recordsPerTask is a positive whole number');
  const cutter = new ChunkCutter(recordsPerTask);
  const bounds: Bounds = { featureBound: 0n, fieldBound: 0, labelBound: 0, traits: noTraits() };
  const statistics = columns && new StatisticsBuilder(slotsOf(columns.columns));
  const into = { cutter, bounds, onBytes, columns, statistics, ...selected };
  const files = await formatOf(format).index(place, found, into);
  const records = files.reduce((sum, file) => sum + file.records, 0);
  if (records === 0)
    throw selected === undefined ? noRecord(found.paths) : noneSelected(found.paths, selected.selection);
  const { chunks } = cutter;
  const { fieldBound, labelBound, traits } = bounds;
  const featureBound = String(bounds.featureBound);
  const facts = { files, chunks, records, featureBound, fieldBound, labelBound, traits };
  const ofColumns = statistics === undefined ? {} : { statistics: statistics.finish() };
  return { format, ...facts, ...ofColumns, digest: digestOf({ format, files, chunks }, columns, selected) };
}

export const noRecord = (paths: readonly string[]): PaddletError =>
  new PaddletError('DataInvalid', `no records in ${paths.join(', ')}`, {
    hint: 'check the program that writes the files: empty lines and comments do not count as records',
  });

const noneSelected = (paths: readonly string[], { part, split }: Selection): PaddletError => {
  const what =
    split === undefined ? 'data.negativeSampling removes every record' : `data.split leaves no ${part} records`;
  return new PaddletError('DataInvalid', `${what} of ${paths.join(', ')}`, {
    hint: 'run `paddlet doctor JOB` to check the files, and the labels and times in them',
  });
};

/**
 * SHA-256 over the canonical form: lines of JSON for the columns and the selection, if there are any, for the format
 * and for each file, then a line of numbers a chunk.
 */
export function digestOf(
  index: Pick<DataIndex, 'format' | 'files' | 'chunks'>,
  columns?: ColumnSpec,
  selected?: Selected,
): string {
  const hash = createHash('sha256');
  if (columns !== undefined) hash.update(`${canonicalJson(['paddlet columns 1', columns])}\n`);
  if (selected !== undefined) hash.update(`${canonicalJson(['paddlet selection 1', selected])}\n`);
  hash.update(`${JSON.stringify(['paddlet index 1', index.format, index.files.length, index.chunks.length])}\n`);
  for (const { path, bytes, records, labels, layout } of index.files) {
    const ofLabels = labels === undefined ? [] : [labels.path, labels.bytes];
    const ofLayout = layout === undefined ? [] : [layout.fields, layout.positions];
    hash.update(`${JSON.stringify([path, bytes, records, ...ofLabels, ...ofLayout])}\n`);
  }
  for (const chunk of index.chunks) {
    const { file, offset, bytes, firstRecord, records, firstLine, crc32, position } = chunk;
    const ofPosition = position === undefined ? '' : ` ${position}`;
    hash.update(`${file} ${offset} ${bytes} ${firstRecord} ${records} ${firstLine} ${crc32}${ofPosition}\n`);
  }
  return hash.digest('hex');
}
