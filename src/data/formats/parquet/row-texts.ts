/** The values of a column of a row group as texts of its rows. */
import { LIMITS } from '../../../base/limits.ts';
import { textsOf } from './canonical.ts';
import type { ColumnValues } from './column.ts';
import type { Leaf } from './schema.ts';

/** As bytes in Latin-1; empty where there is none. A text of a dictionary is made once. */
export function rowTexts(leaf: Leaf, { values, indexes, nulls }: ColumnValues): (row: number) => string {
  const textAt = textsOf(leaf, values);
  const made = (at: number): string => {
    const { buffer, byteOffset, byteLength } = textAt(at) ?? new Uint8Array(0);
    return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
  };
  const known: string[] = [];
  const textFor = (row: number): string => {
    if (indexes === undefined) return made(row);
    const at = indexes[row]!;
    known[at] ??= made(at);
    return known[at];
  };
  return (row) => (nulls !== undefined && nulls[row] !== 0 ? '' : textFor(row));
}

/** The texts of a list's values, with `separator` between them; at most as many as one record may have. */
export function listTexts(leaf: Leaf, column: ColumnValues, separator: string): (row: number) => string {
  const elementText = rowTexts(leaf, column);
  const { listOffsets } = column;
  if (listOffsets === undefined) return elementText;
  return (row) => {
    const texts: string[] = [];
    const end = Math.min(listOffsets[row + 1]!, listOffsets[row]! + LIMITS.listValues);
    let length = 0;
    for (let at = listOffsets[row]!; at < end && length < LIMITS.recordBytes; at++) {
      const text = elementText(at);
      if (text !== '') texts.push(text);
      length += text.length;
    }
    return texts.join(separator);
  };
}
