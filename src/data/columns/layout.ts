/** Where the columns of a job are in a file. */
import type { FileLayout } from '../source.ts';
import { type ColumnSpec, type FieldColumn, isConstant } from './column.ts';

/** All columns except crosses, which are computed from other columns. */
export const fieldColumns = ({ columns }: ColumnSpec): FieldColumn[] =>
  columns.filter((column) => column.type !== 'cross');

/** Whether it is read from the records. */
export const isRead = (column: FieldColumn): boolean => column.type !== 'ignore' && !isConstant(column);

/** The layout for records whose values are found by keys: each file has the same places. */
export function layoutByPath(spec: ColumnSpec): FileLayout {
  const columns = fieldColumns(spec);
  return { fields: columns.length, positions: columns.map((column, field) => (isRead(column) ? field : -1)) };
}

/**
 * Whether a layout can be one of these columns: layouts come over the wire. Each column that is read has a separate
 * field; in a file of columns, so has each that was a constant.
 */
export function fitsLayout(spec: ColumnSpec, { fields, positions }: FileLayout, hasField = isRead): boolean {
  const columns = fieldColumns(spec);
  const taken = positions.filter((position) => position >= 0);
  return (
    positions.length === columns.length &&
    new Set(taken).size === taken.length &&
    taken.every((position) => position < fields) &&
    columns.every((column, at) =>
      hasField(column) ? positions[at]! >= 0 : !isConstant(column) || positions[at] === -1,
    )
  );
}
