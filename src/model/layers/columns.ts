/** Columns as layers read them, by name. */
import { PaddletError } from '../../base/errors.ts';

export interface ModelColumn {
  readonly name: string;
  /** A `number` is floats of each record, or one feature; others are features only. */
  readonly kind: 'number' | 'category' | 'cross';
  /** Floats of a number column: one, or two if it has an indicator of missing values. */
  readonly floats: number;
}

/** Names that a hint lists. */
const SHOWN_NAMES = 20;

/** Columns whose features a layer looks up: by default all but numbers. Undefined where the data has no columns. */
export function categoriesOf(
  layer: string,
  wanted: readonly string[] | undefined,
  columns: readonly ModelColumn[] | undefined,
): readonly string[] | undefined {
  return chosen(
    layer,
    wanted,
    columns,
    ({ kind }) => kind !== 'number',
    () => true,
  )?.map(({ name }) => name);
}

/** Numbers that a layer reads: by default all. Undefined where the data has no columns. */
export function numbersOf(
  layer: string,
  wanted: readonly string[] | undefined,
  columns: readonly ModelColumn[] | undefined,
): readonly ModelColumn[] | undefined {
  const isNumber = ({ kind }: ModelColumn): boolean => kind === 'number';
  return chosen(layer, wanted, columns, isNumber, isNumber);
}

function chosen(
  layer: string,
  wanted: readonly string[] | undefined,
  columns: readonly ModelColumn[] | undefined,
  isUsual: (column: ModelColumn) => boolean,
  fits: (column: ModelColumn) => boolean,
): readonly ModelColumn[] | undefined {
  const refuse = (message: string, hint?: string): never => {
    throw new PaddletError('JobInvalid', `the layer ${layer} ${message}`, hint === undefined ? {} : { hint });
  };
  if (columns === undefined) {
    if (wanted !== undefined) refuse('names columns, but the data has none', 'use data.format csv, tsv or columns');
    return undefined;
  }
  const own = wanted?.map((name, place) => {
    if (wanted.indexOf(name) < place) refuse(`names the column ${name} twice`);
    const column = columns.find((one) => one.name === name);
    if (column !== undefined && fits(column)) return column;
    const fitting = columns.filter(fits).map((one) => one.name);
    const more = fitting.length > SHOWN_NAMES ? `, and ${fitting.length - SHOWN_NAMES} more` : '';
    const hint = `choose from ${fitting.slice(0, SHOWN_NAMES).join(', ')}${more}`;
    const fault = column === undefined ? 'is not a column that a model reads' : `is a ${column.kind}, not a number`;
    return refuse(`names ${name}, which ${fault}`, fitting.length === 0 ? undefined : hint);
  });
  const read = own ?? columns.filter(isUsual);
  return read.length === 0 ? refuse('does not have a column to read') : read;
}
