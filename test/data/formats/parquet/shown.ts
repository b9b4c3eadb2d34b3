/** Parquet files of test/golden/data/parquet, and their columns as plain values. */
import { readFileSync } from 'node:fs';
import { type ColumnValues, readColumn } from '../../../../src/data/formats/parquet/column.ts';
import { type Footer, leafNamed, readFooter } from '../../../../src/data/formats/parquet/footer.ts';
import type { Values } from '../../../../src/data/formats/parquet/values.ts';

type Plain = number | bigint | string | null;
export type Shown = Plain | readonly Plain[];

export const fileBytes = (name: string): Buffer => readFileSync(`test/golden/data/parquet/${name}.parquet`);

export const readOf = (bytes: Uint8Array) => async (offset: number, count: number) =>
  bytes.subarray(offset, offset + count);

export const footerOf = (bytes: Uint8Array): Promise<Footer> => readFooter('f', bytes.length, readOf(bytes));

/** All rows of the column. */
export async function columnOf(bytes: Uint8Array, name: string): Promise<Shown[]> {
  const footer = await footerOf(bytes);
  const leaf = leafNamed(footer, name);
  const shown: Shown[] = [];
  for (let group = 0; group < footer.groups.length; group++) {
    shown.push(...rowsOf(await readColumn(footer, group, leaf, readOf(bytes))));
  }
  return shown;
}

export function rowsOf(column: ColumnValues): Shown[] {
  const { rows, elements, nulls, indexes, values, listOffsets } = column;
  const all = Array.from({ length: elements }, (_, element): Plain => {
    return nulls?.[element] === 1 ? null : shownValue(values, indexes === undefined ? element : indexes[element]!);
  });
  if (listOffsets === undefined) return all;
  return Array.from({ length: rows }, (_, row) => all.slice(listOffsets[row], listOffsets[row + 1]));
}

/** Bytes as Latin-1. */
function shownValue(values: Values, at: number): Plain {
  if (values.kind === 'bytes') {
    return Buffer.from(values.bytes.subarray(values.starts[at], values.ends[at])).toString('latin1');
  }
  const value = values.array[at];
  if (value === undefined) throw new Error(`there is no value ${at}`);
  return value;
}
