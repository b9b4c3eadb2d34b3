/** Writes a file of columns of what is read of another file. */
import { dirname } from 'node:path';
import { LIMITS } from '../../../base/limits.ts';
import type { Content } from '../../bytes/content.ts';
import type { Column, ColumnSpec } from '../../columns/column.ts';
import { ANY_LABEL } from '../../labels.ts';
import type { DataPlace } from '../../place.ts';
import { writeWhole } from '../../whole-file.ts';
import type { Format } from '../format.ts';
import { encodeHeader } from './header.ts';
import { BlockWriter } from './writer.ts';

export interface Converted {
  /** Bad ones included: they keep their position. */
  readonly records: number;
  readonly bad: number;
  readonly bytes: number;
}

export interface ColumnsSource {
  readonly content: Content;
  readonly columns: ColumnSpec;
  readonly readFile: NonNullable<Format['readFile']>;
  readonly onBytes: (count: number) => void;
  /** Whether the file replaces its source: then reasons of bad records need not say where the source is. */
  readonly isCopy?: boolean;
}

/**
 * Under another name until it is whole; a file of that name is replaced. Throws what reading the source may throw, and
 * errors of the file system for the target.
 */
export async function writeColumns(
  { host }: Pick<DataPlace, 'host'>,
  target: string,
  { content, columns, readFile, onBytes, isCopy = false }: ColumnsSource,
  beforePublished: () => Promise<void> = async () => {},
): Promise<Converted> {
  const raw = asWritten(columns);
  const { path } = content;
  await host.disk.makeFolder(dirname(target));
  const converted = await writeWhole(host, target, async (append) => {
    let bytes = 0;
    const write = async (blocks: readonly Buffer[]): Promise<void> => {
      for (const block of blocks) await append(block);
      bytes += blocks.reduce((sum, { length }) => sum + length, 0);
    };
    await write([encodeHeader(raw, path)]);
    const writer = new BlockWriter(raw, isCopy ? undefined : path);
    const beforeRead = (): Promise<void> => write(writer.takeBlocks());
    await readFile(content, { columns: raw, labels: ANY_LABEL, onBytes, beforeRead }, writer);
    const { records, badRecords: bad } = writer;
    await write(writer.finish());
    await beforePublished();
    return { records, bad, bytes };
  });
  await host.disk.syncFolder(dirname(target));
  return converted;
}

/** What a job finds bad in a value, another job may take: it is decided when the columns are read. */
export const asWritten = (spec: ColumnSpec): ColumnSpec => ({ ...spec, columns: spec.columns.map(columnAsWritten) });

function columnAsWritten(column: Column): Column {
  if (column.type === 'number') return { ...column, missing: 'mean' };
  if (column.type === 'categories') return { ...column, maxLength: LIMITS.listValues };
  return column;
}
