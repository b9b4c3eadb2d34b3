/** `paddlet data convert`: files of text to files of columns, which are read without parsing. */
import { dirname, isAbsolute, join } from 'node:path';
import { assert } from '../base/assert.ts';
import { LIMITS } from '../base/limits.ts';
import type { Column, ColumnSpec } from './columns/column.ts';
import { openContent } from './content.ts';
import { encodeHeader } from './formats/columns/header.ts';
import { BlockWriter } from './formats/columns/writer.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import { ANY_LABEL } from './labels.ts';
import type { DataPlace } from './place.ts';
import { writeWhole } from './whole-file.ts';

export interface Conversion {
  readonly format: DataFormat;
  readonly columns: ColumnSpec;
  readonly onBytes: (count: number) => void;
}

export interface Converted {
  /** Bad ones included: they keep their position. */
  readonly records: number;
  readonly bad: number;
  readonly bytes: number;
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
  const { readFile } = formatOf(format);
  assert(readFile !== undefined, 'the format has columns');
  const raw = { ...columns, columns: columns.columns.map(asWritten) };
  const content = await openContent(place, path);
  try {
    const { disk } = place.host;
    await disk.makeFolder(dirname(target));
    const converted = await writeWhole(place.host, target, async (append) => {
      let bytes = 0;
      const write = async (blocks: readonly Buffer[]): Promise<void> => {
        for (const block of blocks) await append(block);
        bytes += blocks.reduce((sum, { length }) => sum + length, 0);
      };
      await write([encodeHeader(raw, path)]);
      const writer = new BlockWriter(raw, path);
      const beforeRead = (): Promise<void> => write(writer.takeBlocks());
      await readFile(content, { columns: raw, labels: ANY_LABEL, onBytes, beforeRead }, writer);
      const { records, badRecords: bad } = writer;
      await write(writer.finish());
      return { records, bad, bytes };
    });
    await disk.syncFolder(dirname(target));
    return converted;
  } finally {
    await content.file.close();
  }
}

/** What a job finds bad in a value, another job may take: it is decided when the columns are read. */
function asWritten(column: Column): Column {
  if (column.type === 'number') return { ...column, missing: 'mean' };
  if (column.type === 'categories') return { ...column, maxLength: LIMITS.listValues };
  return column;
}

/** Where the columns of a file go: its path below `folder`, with another ending. */
export function convertedPath(folder: string, path: string): string {
  const isBelow = !isAbsolute(path) && !path.split('/').includes('..');
  const below = isBelow ? path : path.slice(path.lastIndexOf('/') + 1);
  return join(folder, `${below.replace(/\.gz$/, '').replace(/\.(csv|tsv|txt|jsonl|ndjson|json)$/, '')}.columns`);
}
