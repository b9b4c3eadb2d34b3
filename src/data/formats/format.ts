/** What a data format is to paddlet: how its files are found, indexed and read. `registry.ts` lists the formats. */
import type { Model } from '../../model/model.ts';
import type { Content } from '../bytes/content.ts';
import type { ForwardBytes } from '../bytes/forward.ts';
import type { Slice } from '../bytes/slices.ts';
import type { ChunkCutter } from '../chunk-cutter.ts';
import type { ColumnSpec } from '../columns/column.ts';
import type { UsedColumns } from '../columns/inputs.ts';
import type { ColumnPiece } from '../columns/piece.ts';
import type { StatisticsBuilder } from '../columns/statistics.ts';
import type { LabelRule } from '../labels.ts';
import type { Traits } from '../oddities.ts';
import type { OpenFiles } from '../open-files.ts';
import type { ParsedBlock } from '../parsed/block.ts';
import type { PieceSink, SparsePiece } from '../piece.ts';
import type { DataPlace } from '../place.ts';
import type { Selection } from '../selection.ts';
import type { Chunk, FileLayout, IndexedFile, TaskRecords } from '../source.ts';

export type AnyPiece = ColumnPiece | SparsePiece;

export interface Format {
  /**
   * What its records are: `sparse`, features by id; `dense`, rows of a fixed number of inputs; or `columns`, from which
   * either is made, or what a model of columns reads.
   */
  readonly input: Model['input'];
  /**
   * How a job says where its columns are, of formats with columns: by the places of fields in a line, by keys of nested
   * values, or only by names.
   */
  readonly placing?: 'position' | 'path' | 'name';
  /** Each record has its own keys: no file says which columns there are. */
  readonly hasOwnKeys?: true;
  /** Whether its features are of fields; those of columns are of the field of their column. */
  readonly hasFields: boolean;
  /** Whether labels are in separate files (`trainLabels` of the job); otherwise each record has its label. */
  readonly hasLabelFiles: boolean;
  /** Its files are Parquet, which is refused otherwise. */
  readonly takesParquet?: true;
  /** Opens what `index` and `read` read of a file, where that is not its content. Throws as `openContent`. */
  open?(place: DataPlace, path: string, columns: ColumnSpec): Promise<Content>;
  /** The files of a request. Throws `DataMissing`, and what opening a file may throw. */
  find(place: DataPlace, wanted: WantedFiles): Promise<FoundFiles>;
  /**
   * Reads each file once, in order, and passes its records to the cutter. Throws `DataMissing`, `DataInvalid`,
   * `DataChanged`, `DataCacheFailed`.
   */
  index(place: DataPlace, found: FoundFiles, into: Indexing): Promise<IndexedFile[]>;
  /** Passes on the records of the first bytes of a file, whole lines; absent where the header of a file says enough. */
  readHead?(
    head: { readonly file: string; readonly bytes: Uint8Array; readonly isWhole: boolean },
    labels: LabelRule,
    columns: ColumnSpec | undefined,
    into: PieceSink<AnyPiece>,
  ): void;
  /**
   * Reads a file once, and passes all of its records on, or as many as are taken. Of formats with columns. Throws
   * `DataInvalid`, `DataChanged`.
   */
  readFile?(content: Content, how: WholeFile, into: PieceSink<ColumnPiece>): Promise<ReadFile>;
  /**
   * Number of records of a file whose header states it. The file must then be complete and have the columns of the job.
   */
  countRecords?(place: DataPlace, path: string, columns?: ColumnSpec): Promise<number>;
  /**
   * Version of the blocks that `read` returns, for formats that are expensive to parse. Raise it if the same bytes
   * would give another block. Without it no block is kept.
   */
  readonly parserVersion?: number;
  /** The records of a task. Throws `DataChanged`, `DataInvalid`, `DataMissing`; a bad record is not an error. */
  read(files: OpenFiles, options: ReadOptions, chunks: readonly Chunk[]): Promise<ParsedTask>;
  /**
   * All records of a source of any size, for predictions: labels, weights, groups and times may be missing. Absent for
   * formats in which users do not have records to score. Throws `DataInvalid`.
   */
  openForward?(head: ForwardHead, options: ForwardOptions): ForwardReader;
  /** The same of a format whose files say at their end what is in them: they are read at any place. */
  openRows?(content: Content, options: ForwardOptions): Promise<RowsReader>;
}

/** Is shown the good records of formats with columns. */
export type WatchPieces = (piece: ColumnPiece) => void;

/** Whole records of a source that is read forwards: what a thread reads by itself. `first`: of idx, a record. */
export type ForwardPart = Pick<Slice, 'bytes' | 'offset' | 'first' | 'long'>;

/** Some rows of a row group: what a part is of a file that is read at any place. */
export interface RowsPart {
  /** Number of the group in the file. */
  readonly group: number;
  readonly from: number;
  readonly to: number;
}

export type AnyPart = ForwardPart | RowsPart;

/** The first bytes of a source: `FORWARD_HEAD_BYTES` of them, or all that it has. */
export interface ForwardHead {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

/** As many as the first line of any format may have. */
export const FORWARD_HEAD_BYTES = 1 << 20;

export interface ForwardOptions extends Pick<ReadOptions, 'batchSize' | 'columns' | 'inputWidth' | 'readsFields'> {
  /** Path of the file, for messages and for columns in the path. */
  readonly file: string;
  readonly mayHaveWeight: boolean;
  /** Fields per line in the job's files, for files without a header. */
  readonly fields: number | undefined;
  /** Columns whose texts are carried over: names of the header, or 1-based positions. Formats without columns: none. */
  readonly keep: readonly string[];
  /** Sees the good records of formats with columns. */
  readonly watch?: WatchPieces | undefined;
  /** What is read at a time: a part is so long, but for its last record. */
  readonly sliceBytes?: number;
}

export interface ForwardReader {
  /** Names of the kept columns. */
  readonly kept: readonly string[];
  /** The whole source, its head included, in parts that hold whole records; one is read when it is asked for. */
  parts(source: ForwardBytes): AsyncGenerator<ForwardPart>;
  /** The records of a part that a reader with the same head and options has cut. Throws `DataInvalid`. */
  read(part: ForwardPart): readonly ForwardGroup[];
}

export interface RowsReader extends Pick<ForwardReader, 'kept'> {
  /** The whole file, in order. */
  parts(): AsyncGenerator<RowsPart>;
  /** Throws `DataInvalid`. */
  read(part: RowsPart): Promise<readonly ForwardGroup[]>;
}

export interface ForwardGroup {
  readonly records: TaskRecords;
  /** For each record, including bad ones, the texts of the kept columns: bytes as Latin-1. Undefined: none are kept. */
  readonly kept?: readonly (readonly string[])[];
}

export interface WholeFile {
  readonly columns: ColumnSpec;
  readonly labels: LabelRule;
  /** Called with the number of bytes of each stretch read. */
  readonly onBytes: (count: number) => void;
  /** Awaited before each stretch, so that what takes the records can keep up. */
  readonly beforeRead?: () => Promise<void>;
}

export interface ReadFile {
  /** Where the columns are; undefined when the file has no record. */
  readonly layout: FileLayout | undefined;
  /** False: the sink was full, and there are more records. */
  readonly isWhole: boolean;
}

export interface ParsedTask {
  readonly records: TaskRecords;
  /** What `records` shows, if it may be kept. */
  readonly block?: ParsedBlock;
}

export interface WantedFiles {
  /** A file, a folder, a glob, or a list of these. */
  readonly what: string | readonly string[];
  /**
   * For formats with files of labels: one for each file of `what`, in the same order; both are then plain file names.
   * Without it the format finds them by name.
   */
  readonly labels?: readonly string[];
}

export interface FoundFiles {
  /** Sorted bytewise. */
  readonly paths: readonly string[];
  /** The file of labels of each path; empty for formats without any. */
  readonly labels: readonly string[];
}

/** Raised by an indexer as it meets larger ones. */
export interface Bounds {
  /** Highest feature id + 1 (sparse), or inputs of a record (dense). */
  featureBound: bigint;
  /** Highest field + 1; 0 if features do not have fields. */
  fieldBound: number;
  /** Highest whole label + 1, at most 2^53 - 1. */
  labelBound: number;
  readonly traits: Traits;
}

export interface Indexing {
  readonly cutter: ChunkCutter;
  readonly bounds: Bounds;
  /** Called with the number of decompressed bytes of each stretch read. */
  readonly onBytes: (count: number) => void;
  /** Present for formats with columns. */
  readonly columns?: ColumnSpec | undefined;
  /** Which records of the files are records of the dataset; all without it. */
  readonly selection?: Selection | undefined;
  /** The labels that the model takes, if they decide which records these are. */
  readonly labels?: LabelRule | undefined;
  /** Takes the numbers of all good records. */
  readonly statistics?: StatisticsBuilder | undefined;
}

/** Counts where the time of the thread goes. */
export interface ReadTimes {
  during<T>(what: 'read' | 'parse', work: () => T): T;
}

export const UNTIMED: ReadTimes = { during: (_, work) => work() };

export interface ReadOptions {
  /** As in the index: chunks name files by number. */
  readonly files: readonly IndexedFile[];
  readonly labels: LabelRule;
  /** Records of a mini-batch, by indexed position: batches that begin at a multiple of it cost nothing. */
  readonly batchSize: number;
  /** Inputs of a record (dense formats): `featureBound` of the index that the job trains on. */
  readonly inputWidth: number;
  /** Whether the model reads the fields of features; of formats with columns, `columns` says it. */
  readonly readsFields?: boolean | undefined;
  /** Present for formats with columns. */
  readonly columns?: ReadColumns | undefined;
  /** The selection that the index was made with. */
  readonly selection?: Selection | undefined;
  readonly times?: ReadTimes;
}

/** Columns of a job: the same object for all of its tasks. */
export interface ReadColumns extends ColumnSpec, UsedColumns {}
