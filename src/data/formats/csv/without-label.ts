/** Lines to be scored: they may lack the field of the label. */
import { PaddletError } from '../../../base/errors.ts';
import type { ColumnSpec, FieldColumn } from '../../columns/column.ts';
import type { ForwardHead, ForwardOptions } from '../format.ts';
import { headOf } from './layout.ts';

/**
 * The columns as they are in a file without a header, whose lines may lack the field of the label: those behind it then
 * move up. Throws `DataInvalid` for any other number of fields than the job's files have.
 */
export function withoutLabel<S extends ColumnSpec>(
  spec: S,
  { file, fields }: Pick<ForwardOptions, 'file' | 'fields'>,
  { bytes, isWhole }: ForwardHead,
): S {
  const found = headOf(file, bytes, isWhole, { ...spec, columns: [] })?.layout.fields;
  if (spec.dialect.header || found === undefined || fields === undefined || found === fields) return spec;
  const label = spec.columns.find(({ type }) => type === 'label');
  if (found !== fields - 1 || label === undefined || label.type !== 'label' || label.position === undefined) {
    throw new PaddletError(
      'DataInvalid',
      `expected ${fields} fields per line in ${file}, as in the files of the job, got ${found}`,
      {
        hint: 'if the file has no header, give it all columns of the job, or all but the label',
      },
    );
  }
  const { position: missing } = label;
  const closedUp = (column: FieldColumn): FieldColumn =>
    column.position === undefined || column.position < missing ? column : { ...column, position: column.position - 1 };
  return {
    ...spec,
    columns: spec.columns
      .filter((column) => column !== label)
      .map((column) => (column.type === 'cross' ? column : closedUp(column))),
  };
}
