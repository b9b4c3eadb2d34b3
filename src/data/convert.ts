/** `paddlet data convert`: files of text to files of columns, which are read without parsing. */
import { isAbsolute, join } from 'node:path';
import { assert } from '../base/assert.ts';
import { openContent } from './bytes/content.ts';
import type { ColumnSpec } from './columns/column.ts';
import { type Converted, writeColumns } from './formats/columns/write-file.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import type { DataPlace } from './place.ts';

export interface Conversion {
  readonly format: DataFormat;
  readonly columns: ColumnSpec;
  readonly onBytes: (count: number) => void;
}

/**
 * Under another name until it is whole; a file of that name is replaced. Throws what opening and reading the source may
 * throw, and errors of the file system for the target.
 */
export async function convertFile(
  place: DataPlace,
  path: string,
  target: string,
  { format, columns, onBytes }: Conversion,
): Promise<Converted> {
  const { readFile, takesParquet } = formatOf(format);
  assert(readFile !== undefined, 'the format has columns');
  const content = await openContent(place, path, takesParquet);
  try {
    return await writeColumns(place, target, { content, columns, readFile, onBytes });
  } finally {
    await content.file.close();
  }
}

/** Where the columns of a file go: its path below `folder`, with another ending. */
export function convertedPath(folder: string, path: string): string {
  const isBelow = !isAbsolute(path) && !path.split('/').includes('..');
  const below = isBelow ? path : path.slice(path.lastIndexOf('/') + 1);
  return join(
    folder,
    `${below.replace(/\.(gz|zst)$/, '').replace(/\.(csv|tsv|txt|jsonl|ndjson|json|parquet)$/, '')}.columns`,
  );
}
