/** What a look at a table is taken of: the columns of a file, and the texts of its records, whatever its format is. */
import type { Dialect } from '../columns/column.ts';
import type { TableDialect } from './dialect.ts';

/** How a table is written. */
export type TableForm =
  | ({ readonly format: 'csv' | 'tsv' | 'interactions' } & TableDialect & Pick<Dialect, 'header' | 'decimal'>)
  | { readonly format: 'jsonl' }
  | { readonly format: 'parquet'; readonly rowGroups: number };

/** Whether columns are known by their names, and not by their places. */
export const hasNames = (form: TableForm): boolean => !isOfFields(form) || form.header;
export const isOfFields = (form: TableForm): form is Extract<TableForm, TableDialect> => 'delimiter' in form;

export interface SourceColumn {
  readonly name: string;
  /** The file has it, once; otherwise it is known by its place. */
  readonly hasName: boolean;
  /** Where a job finds its values, if that is not its name. */
  readonly path?: string | undefined;
  /** What its values are in the file, where these have types. */
  readonly stored?: string | undefined;
  /** Its values are lists. Their texts have bars between them. */
  readonly isList?: boolean | undefined;
  /** Why no column of a job can have its values, if none can. All of its texts are empty. */
  readonly unreadable?: string | undefined;
  /** The format says that its values are ids, even if they are numbers. */
  readonly isId?: boolean | undefined;
  /** The format says that its values are times. */
  readonly isTime?: boolean | undefined;
}

/** The separator between the values of a list, in its text. */
export const LIST_SEPARATOR = '|';

export interface RecordSink {
  /** Bytes as Latin-1; an empty one where there is no value. `fault`: why the record is bad. False: no more. */
  take(texts: readonly string[], line: number, fault: string | undefined): boolean;
  /** Takes `records` records column by column; the texts of a column are requested together. False: no more. */
  takeColumns(records: number, textsOf: (column: number) => Promise<(record: number) => string>): Promise<boolean>;
}

export interface TableSource {
  readonly path: string;
  readonly form: TableForm;
  /** As far as they are known: of JSON, each record that is read may add to what they are. */
  readonly columns: readonly SourceColumn[];
  /** Texts of the first good records, for guesses. */
  readonly rows: readonly (readonly string[])[];
  /** Names of what is in records and is not a column: some of them. */
  readonly unlisted: readonly string[];
  read(sink: RecordSink): Promise<void>;
}

/** Records for guesses. */
export const FIRST_RECORDS = 1000;
/** Names in `unlisted`. */
export const MOST_UNLISTED = 20;
