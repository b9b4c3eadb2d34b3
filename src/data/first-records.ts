/**
 * A look at the first records of the data, before anything is started: data of another format, or labels that the model
 * does not take, are reported in the first second. Trainers judge the rest, task by task.
 */
import { isPaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { BadRecord } from './bad-record.ts';
import { type BadRecordsRule, noGoodRecord, noneGood, tooManyBad } from './bad-records.ts';
import { headOf, openContent } from './bytes/content.ts';
import { EXPECTED } from './bytes/packed.ts';
import { type ColumnSpec, slotsOf } from './columns/column.ts';
import type { ColumnPiece } from './columns/piece.ts';
import { SeenColumns } from './columns/seen.ts';
import { type NumberStatistics, StatisticsBuilder } from './columns/statistics.ts';
import type { AnyPiece } from './formats/format.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import { noRecord } from './index-builder.ts';
import type { LabelRule } from './labels.ts';
import { noTraits, noteColumns, noteLabel, type Traits } from './oddities.ts';
import type { PieceSink } from './piece.ts';
import { type DataPlace, resolveFiles } from './place.ts';

const FIRST_FILES = 8;
const FIRST_RECORDS = 100;
/** Records to read from each file of a format whose first bytes cannot be parsed alone, such as Parquet. */
const FIRST_ROWS = 10_000;

export interface FirstRecords {
  readonly what: string | readonly string[];
  readonly format: DataFormat;
  readonly labels: LabelRule;
  /** Present for formats with columns. */
  readonly columns?: ColumnSpec | undefined;
}

export interface FirstTask extends FirstRecords, BadRecordsRule {
  readonly recordsPerTask: number;
  /** Not all records of the files are in tasks. */
  readonly isSelected?: boolean;
}

/** Throws `TooManyBadRecords` if a task of the data is certain to fail, `DataInvalid` if no record is good. */
export async function refuseBadStart(place: DataPlace, task: FirstTask): Promise<void> {
  const records = Math.min(FIRST_RECORDS, task.recordsPerTask);
  const seen: SeenHead[] = [];
  for await (const { path, isFirst, isWhole, isLast, head } of heads(place, task)) {
    seen.push({ path, isWhole, isLast, head });
    const bad = head.badAmong(records);
    // So few records of a later file are in two tasks at most; some may be of none.
    const allowed = task.isSelected ? records : (isFirst ? 1 : 2) * task.maxBadRecords;
    if (bad.length <= allowed) continue;
    const among = Math.min(records, head.records);
    throw tooManyBad(
      bad,
      `${bad.length} of the first ${among} records of ${path} are bad: expected at most ${task.maxBadRecords} (data.maxBadRecords)`,
      task.format,
    );
  }
  const bad = seen.flatMap(({ head }) => head.refused);
  const isAll = seen.at(-1)?.isLast === true && seen.every(({ isWhole }) => isWhole);
  if (!isAll || bad.length === 0 || seen.some(({ head }) => head.refused.length < head.records)) return;
  throw noGoodRecord(
    seen.map(({ path }) => path),
    bad,
    task.format,
  );
}

/** Throws `DataInvalid` if a file begins with records of another format. */
export async function refuseOtherFormat(
  place: DataPlace,
  { mayHaveWeight, ...data }: Omit<FirstRecords, 'labels'> & Pick<LabelRule, 'mayHaveWeight'>,
): Promise<void> {
  // The widest rule, as the model is not known.
  const labels: LabelRule = { task: 'regression', mayHaveWeight };
  for await (const { path, head } of heads(place, { ...data, labels })) {
    if (head.records === 0 || head.refused.length < head.records) continue;
    const what = `cannot read any record of ${path} as ${data.format}`;
    const isText = formatOf(data.format).input === 'columns';
    const otherwise = isText
      ? 'compare it with the columns of the job'
      : `compare it with --format ${data.format}: ${EXPECTED}`;
    throw noneGood(head.refused, what, data.format, otherwise);
  }
}

export interface FirstLook {
  readonly traits: Traits;
  /** Good records that were looked at. */
  readonly records: number;
  readonly bad: readonly BadRecord[];
  /** For each number column, over the records that were read. Empty for formats without columns. */
  readonly statistics: readonly NumberStatistics[];
  /** Nothing was left out of the look. */
  readonly isWhole: boolean;
}

/** What is to be seen of the files without reading them. Throws `DataInvalid` when they have no record at all. */
export async function lookAtFirst(
  place: DataPlace,
  { format, columns }: Pick<FirstRecords, 'format' | 'columns'>,
  paths: readonly string[],
): Promise<FirstLook> {
  const { countRecords } = formatOf(format);
  const traits = noTraits();
  // Labels as they are written.
  const data: FirstRecords = { what: paths, format, columns, labels: { task: 'regression', mayHaveWeight: true } };
  let isWhole = paths.length <= FIRST_FILES;
  const bad: BadRecord[] = [];
  let [all, records] = [0, 0];
  const take = (labels: ArrayLike<number> & Iterable<number>): void => {
    records += labels.length;
    for (const label of labels) noteLabel(traits, label);
  };
  const seen = new SeenFiles(columns);
  for await (const { path, isWhole: isAll, head } of heads(place, data, seen.watch)) {
    isWhole &&= isAll;
    all += head.records;
    bad.push(...head.refused);
    take(head.labels);
    if (head.lacksFeatures) traits.withoutFeatures.push(path);
  }
  if (countRecords !== undefined) {
    for (const path of paths) all += await countRecords(place, path, columns);
    const first = await readFirst(place, data, (piece, path) => {
      take(piece.labels.subarray(0, piece.records));
      seen.watch(piece, path);
    });
    isWhole &&= first.isWhole;
    bad.push(...first.bad);
  }
  noteColumns(traits, seen.files);
  if ((isWhole || countRecords !== undefined) && all === 0) throw noRecord(paths);
  return { traits, records, bad, statistics: seen.statistics, isWhole };
}

/** `path`: of the file that has the records. */
type WatchPiecesOf = (piece: ColumnPiece, path: string) => void;

/** What the good records of each file have of the columns. */
class SeenFiles {
  readonly #columns: ColumnSpec['columns'];
  readonly #seen = new Map<string, SeenColumns>();
  readonly #statistics: StatisticsBuilder;

  constructor(spec: ColumnSpec | undefined) {
    this.#columns = spec?.columns ?? [];
    this.#statistics = new StatisticsBuilder(slotsOf(this.#columns));
  }

  readonly watch: WatchPiecesOf = (piece, path) => {
    const seen = this.#seen.get(path) ?? new SeenColumns(this.#columns);
    this.#seen.set(path, seen);
    seen.add(piece);
    this.#statistics.add(piece);
  };

  get statistics(): NumberStatistics[] {
    return this.#statistics.finish();
  }

  get files() {
    return [...this.#seen].map(([path, seen]) => ({ path, seen }));
  }
}

export interface LabelText {
  readonly text: string;
  readonly count: number;
}

/** The texts of the labels of the first records, the most frequent first. Of columns whose labels are kept as texts. */
export async function firstLabelTexts(
  place: DataPlace,
  { what, format, columns }: Pick<FirstRecords, 'what' | 'format' | 'columns'>,
): Promise<readonly LabelText[]> {
  const numbers = new Map<string, number>();
  const counts: number[] = [];
  const numberOf = (text: string): number => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  const take = (labels: Iterable<number>): void => {
    for (const label of labels) counts[label] = (counts[label] ?? 0) + 1;
  };
  const data: FirstRecords = { what, format, columns, labels: { task: 'regression', numberOf } };
  for await (const { head } of heads(place, data)) take(head.labels);
  await readFirst(place, data, (piece) => take(piece.labels.subarray(0, piece.records)));
  const texts = [...numbers].flatMap(([text, number]) => (counts[number] ? [{ text, count: counts[number] }] : []));
  return texts.sort((a, b) => b.count - a.count);
}

/** Reads the first records of the first files, in pieces, if the first bytes of the format cannot be parsed alone. */
async function readFirst(
  place: DataPlace,
  { what, format, columns, labels }: FirstRecords,
  watch: WatchPiecesOf,
): Promise<Pick<FirstLook, 'bad' | 'isWhole'>> {
  const { readHead, readFile, takesParquet } = formatOf(format);
  const bad: BadRecord[] = [];
  if (readHead !== undefined || readFile === undefined || columns === undefined) return { bad, isWhole: true };
  let isWhole = true;
  for (const path of (await resolveFiles(place, what)).slice(0, FIRST_FILES)) {
    const head = new Head((piece) => watch(piece, path), FIRST_ROWS);
    const content = await openContent(place, path, takesParquet);
    try {
      const read = await readFile(content, { columns, labels, onBytes: () => {} }, head);
      isWhole &&= read.isWhole;
      bad.push(...head.refused);
    } finally {
      await content.file.close();
    }
  }
  return { bad, isWhole };
}

/** Collects the first records of a file. */
class Head implements PieceSink<AnyPiece> {
  readonly #watch: (piece: ColumnPiece) => void;
  readonly #most: number;
  readonly refused: BadRecord[] = [];
  /** Position of each bad record. */
  readonly #badAt: number[] = [];
  readonly labels: number[] = [];
  #features = 0;
  #isSparse = false;

  /** `most`: maximum number of records to collect. */
  constructor(watch: (piece: ColumnPiece) => void, most = Number.POSITIVE_INFINITY) {
    this.#watch = watch;
    this.#most = most;
  }

  get records(): number {
    return this.labels.length + this.refused.length;
  }

  get quota(): number {
    return Math.min(LIMITS.pieceRecords, this.#most - this.records);
  }

  get badRecords(): number {
    return this.refused.length;
  }

  /** Its good records are sparse text without any feature. */
  get lacksFeatures(): boolean {
    return this.#isSparse && this.#features === 0;
  }

  add(piece: AnyPiece): void {
    for (const label of piece.labels.subarray(0, piece.records)) this.labels.push(label);
    if ('features' in piece) {
      this.#isSparse = true;
      this.#features += piece.features.features;
    } else this.#watch(piece);
  }

  bad(record: BadRecord): void {
    this.#badAt.push(this.records);
    this.refused.push(record);
  }

  /** The bad records among the first `records` records. */
  badAmong(records: number): readonly BadRecord[] {
    return this.refused.filter((_, at) => this.#badAt[at]! < records);
  }
}

/** The first bad records, for a message about data that was read before; none when it can no longer be read. */
export async function firstBad(place: DataPlace, data: FirstRecords): Promise<readonly BadRecord[]> {
  try {
    for await (const { head } of heads(place, data)) if (head.refused.length > 0) return head.refused;
  } catch (error) {
    if (!isPaddletError(error) && !(error instanceof Error && 'code' in error)) throw error;
  }
  return [];
}

interface SeenHead {
  readonly path: string;
  readonly isWhole: boolean;
  /** No other file follows. */
  readonly isLast: boolean;
  readonly head: Head;
}

async function* heads(
  place: DataPlace,
  { what, format, labels, columns }: FirstRecords,
  watch: WatchPiecesOf = () => {},
) {
  const { readHead } = formatOf(format);
  if (readHead === undefined) return;
  const paths = await resolveFiles(place, what);
  for (const [at, path] of paths.slice(0, FIRST_FILES).entries()) {
    const { bytes, isWhole } = await headOf(place, path);
    const head = new Head((piece) => watch(piece, path));
    readHead({ file: path, bytes, isWhole }, labels, columns, head);
    yield { path, isFirst: at === 0, isLast: at === paths.length - 1, isWhole, head };
  }
}
