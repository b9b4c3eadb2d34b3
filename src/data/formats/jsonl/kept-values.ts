/** Values of objects whose texts go with the predictions. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { type ColumnSpec, pathOf, splitPath } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import type { FileHead, Kept } from '../text/form.ts';
import { canonicalText, type Json, jsonOf } from './json.ts';
import { valueAt } from './line-reader.ts';

/** `keep`: names of columns of the job, or paths. */
export function keptIn(_file: string, keep: readonly string[], _head: FileHead, spec: ColumnSpec): Kept {
  const columns = fieldColumns(spec);
  const paths = keep.map((wanted) => {
    const column = columns.find(({ name }) => name === wanted);
    return column === undefined ? splitPath(wanted) : pathOf(column);
  });
  return {
    names: keep,
    textsIn: (text) => ({
      of(start, end) {
        const record = recordIn(text.subarray(start, end));
        return paths.map((path) => (record === undefined ? '' : latin1(textAt(record, path))));
      },
    }),
  };
}

/** Undefined for what is no JSON: it is a bad record, and has no values. */
function recordIn(line: Uint8Array): Json | undefined {
  if (line.length > LIMITS.recordBytes) return undefined;
  try {
    return jsonOf(line);
  } catch (error) {
    if (error instanceof PaddletError) return undefined;
    throw error;
  }
}

/** Objects and arrays as JSON. */
function textAt(record: Json, path: readonly string[]): string {
  const found = valueAt(record, path);
  const value = 'fault' in found ? null : found.value;
  return value === null ? '' : (canonicalText(value) ?? JSON.stringify(value));
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
