/**
 * The columns of records (docs/columns.md): what a job file says of them, resolved. Part of the index digest and of the
 * batch plan id.
 */

export const NORMALIZATIONS = ['standard', 'minmax', 'log', 'none'] as const;
export type Normalization = (typeof NORMALIZATIONS)[number];

/** Where the values of a column are. */
interface Placed {
  readonly name: string;
  /** 1-based place of its field in a line; without it the header says where the name is. */
  readonly position?: number | undefined;
  /** Keys with dots between them, in records that have values within values. Without it the name is the only key. */
  readonly path?: string | undefined;
  /** Its value is in the path of the file: `name=value` is the name of a folder. */
  readonly from?: 'folder' | undefined;
}

export interface NumberColumn extends Placed {
  readonly type: 'number';
  readonly normalize: Normalization;
  /** Number of quantile bins: makes the column a category of parts of equal count. */
  readonly quantiles?: number | undefined;
  /** What a missing one counts as; `mean` also sets an indicator. */
  readonly missing: 'mean' | 'zero' | 'error';
}

interface WithIds extends Placed {
  readonly ids: 'hash' | 'integer';
  /** Columns with the same one share ids. `hash`: by default the name of the column; `integer`: by default none. */
  readonly vocabulary?: string | undefined;
  /** Maximum number of distinct ids. */
  readonly buckets?: number | undefined;
}

/** One value at most. */
export interface SingleColumn extends WithIds {
  readonly type: 'category';
}

/** Any number of values. */
export interface ListColumn extends WithIds {
  readonly type: 'categories';
  /** One ASCII character. */
  readonly separator: string;
  /** A record with more is bad. */
  readonly maxLength: number;
}

export type CategoryColumn = SingleColumn | ListColumn;

export interface LabelColumn extends Placed {
  readonly type: 'label';
  /** Texts that count as 1; the others as 0, unless `negative` names them. */
  readonly positive?: readonly string[] | undefined;
  readonly negative?: readonly string[] | undefined;
  /** Texts of the classes 0, 1, …. */
  readonly classes?: readonly string[] | undefined;
  /** Label of every record, for data without a label field. */
  readonly value?: 1 | undefined;
}

export interface WeightColumn extends Placed {
  readonly type: 'weight';
}

export interface GroupColumn extends Placed {
  readonly type: 'group';
  readonly ids: 'hash' | 'integer';
}

/** When a record was: no feature. */
export interface TimeColumn extends Placed {
  readonly type: 'time';
  /** One of `TIME_FORMATS`, or a pattern (`time-pattern.ts`). */
  readonly format: string;
  /** Time zone of texts without an offset: an IANA name, or ±hh:mm. */
  readonly zone: string;
}

export interface IgnoredColumn extends Placed {
  readonly type: 'ignore';
}

/** A category made of the values of others. */
export interface CrossColumn {
  readonly name: string;
  readonly type: 'cross';
  /** Names of columns of type `category`, and of numbers with `quantiles`. */
  readonly of: readonly string[];
  readonly buckets?: number | undefined;
}

export type FieldColumn =
  | NumberColumn
  | CategoryColumn
  | LabelColumn
  | WeightColumn
  | GroupColumn
  | TimeColumn
  | IgnoredColumn;
export type Column = FieldColumn | CrossColumn;

/** How the text of a file is divided into fields (RFC 4180, and what files have instead). */
export interface Dialect {
  /** Whether each file begins with the names of the columns. */
  readonly header: boolean;
  /** One ASCII character, or the same one twice. */
  readonly delimiter: string;
  /** Several delimiters in a row are one. */
  readonly runs?: true | undefined;
  /** One ASCII character, or none: then all characters are ordinary. */
  readonly quote: string | null;
  /** A line that begins with it is no record. One ASCII character. */
  readonly comment?: string | undefined;
  /** Texts that mean that there is no value. */
  readonly missing: readonly string[];
  readonly decimal: '.' | ',';
}

export interface ColumnSpec {
  readonly columns: readonly Column[];
  readonly dialect: Dialect;
}

/** Columns by what a parser makes of them, each in the order of the specification. */
export interface ColumnSlots {
  readonly numbers: readonly NumberColumn[];
  /** With exactly one id a record: what is missing has one, too. */
  readonly single: readonly CategoryColumn[];
  /** Columns with any number of ids per record. */
  readonly lists: readonly CategoryColumn[];
  /** Columns whose values stay texts. */
  readonly texts: readonly TimeColumn[];
}

export function slotsOf(columns: readonly Column[]): ColumnSlots {
  const categories = columns.filter(isCategory);
  return {
    numbers: columns.filter((column) => column.type === 'number'),
    single: categories.filter(isSingle),
    lists: categories.filter((column) => !isSingle(column)),
    texts: columns.filter((column) => column.type === 'time'),
  };
}

/** Whether no record has its value: it is in the path of the file, or the same in all files. */
export const isConstant = (column: FieldColumn): boolean =>
  column.from !== undefined || (column.type === 'label' && column.value !== undefined);

/** The keys that lead to its value. */
export const pathOf = ({ name, path }: FieldColumn): string[] => (path === undefined ? [name] : splitPath(path));

export const splitPath = (path: string): string[] => path.split('.');

export const makesFeatures = (column: Column): boolean =>
  column.type === 'number' || column.type === 'cross' || isCategory(column);

/** How many of the columns make features: those of one column are of one field, numbered in this order. */
export const fieldsOf = (columns: readonly Column[]): number => columns.filter(makesFeatures).length;

const isCategory = (column: Column): column is CategoryColumn =>
  column.type === 'category' || column.type === 'categories';

export const isSingle = ({ type, ids }: CategoryColumn): boolean => type === 'category' && ids === 'hash';

/** The name that seeds the ids of a column; undefined when they are the numbers themselves. */
export const vocabularyOf = ({ name, ids, vocabulary, buckets }: CategoryColumn): string | undefined =>
  vocabulary ?? (ids === 'hash' || buckets !== undefined ? name : undefined);
