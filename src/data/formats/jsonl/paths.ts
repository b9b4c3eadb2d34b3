/** Where the columns of a job are in JSON objects: by keys, each in the object before it. */
import { type ColumnSpec, type FieldColumn, pathOf } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import type { FileLayout } from '../../source.ts';
import type { ObjectKey } from '../text/plan.ts';

/** A column that is read from objects. */
export const isRead = ({ type, from }: FieldColumn): boolean => type !== 'ignore' && from === undefined;

/** All records have the same places: a column that a record lacks is missing there. */
export function layoutOf(spec: ColumnSpec): FileLayout {
  const columns = fieldColumns(spec);
  return { fields: columns.length, positions: columns.map((column, field) => (isRead(column) ? field : -1)) };
}

/** The keys of all columns, each object before what it has. The fields are those of `layoutOf`. */
export function keysOf(spec: ColumnSpec): ObjectKey[] {
  const keys: ObjectKey[] = [];
  const known = new Map<string, number>();
  fieldColumns(spec).forEach((column, field) => {
    if (!isRead(column)) return;
    const path = pathOf(column);
    let parent = 0;
    path.forEach((key, depth) => {
      const isLast = depth === path.length - 1;
      const name = JSON.stringify(path.slice(0, depth + 1));
      const place = isLast ? undefined : known.get(name);
      parent = place ?? keys.push({ parent, text: Buffer.from(key), field: isLast ? field : undefined });
      known.set(name, parent);
    });
  });
  return keys;
}
