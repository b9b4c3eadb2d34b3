/** Values of objects whose texts go with the predictions. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { type ColumnSpec, pathOf, splitPath } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import type { FileHead } from '../text/form.ts';
import type { Kept } from '../text/kind.ts';
import { isObject, type Json, jsonOf } from './json.ts';
import { valueAt } from './line-reader.ts';

/** `keep`: names of columns of the job, keys, or paths. */
export function keptIn(_file: string, keep: readonly string[], _head: FileHead, spec: ColumnSpec): Kept {
  const columns = fieldColumns(spec);
  const paths = keep.map((wanted) => {
    const column = columns.find(({ name }) => name === wanted);
    return column === undefined ? undefined : pathOf(column);
  });
  return {
    names: keep,
    textsIn: (text) => ({
      of(start, end) {
        const record = recordIn(text.subarray(start, end));
        if (!isObject(record)) return keep.map(() => '');
        return keep.map((wanted, at) => {
          const isKey = Object.hasOwn(record, wanted);
          return latin1(textAt(record, paths[at] ?? (isKey ? [wanted] : splitPath(wanted))));
        });
      },
    }),
  };
}

/** Null for text that is not JSON: such a record is bad, and has no values. */
export function recordIn(line: Uint8Array): Json {
  if (line.length > LIMITS.recordBytes) return null;
  try {
    return jsonOf(line);
  } catch (error) {
    if (error instanceof PaddletError) return null;
    throw error;
  }
}

/** Numbers as they are written: they may be keys of other tables. Objects and arrays as JSON. */
function textAt(record: Json, path: readonly string[]): string {
  const found = valueAt(record, path);
  const value = 'fault' in found ? null : found.value;
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
