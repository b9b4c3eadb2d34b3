/** Where the columns of a job are in JSON objects: by keys, each in the object before it. */
import { type ColumnSpec, pathOf } from '../../columns/column.ts';
import { fieldColumns, isRead } from '../../columns/layout.ts';
import type { ObjectKey } from '../text/plan.ts';

/** The keys of all columns, each object before what it has. The fields are those of `layoutByPath`. */
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
