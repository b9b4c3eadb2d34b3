/**
 * The columns that a Parquet file has become in the cache: tasks are read from these. A row group is decoded at once,
 * and a task is a small part of one.
 */
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { FileFacts } from '../../../base/seams.ts';
import { type Content, cacheFailed, inspectFile, openContent } from '../../bytes/content.ts';
import { type ColumnSpec, isConstant, pathOf } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import { absolutePath, type DataPlace } from '../../place.ts';
import { removePartial } from '../../whole-file.ts';
import { encodeHeader } from '../columns/header.ts';
import { countColumns } from '../columns/indexer.ts';
import { asWritten, writeColumns } from '../columns/write-file.ts';
import { readParquet } from './reader.ts';

/** Characters of a file's name in the name of its columns, since names have a maximum length. */
const NAME_CHARACTERS = 64;

/** Raise this if the same file would become other columns. */
const COLUMNS_VERSION = 2;

/** By the file, and by what decides the values of its columns: not by what a job makes of these. */
function keyOf(source: string, path: string, { bytes, modifiedMs }: FileFacts, spec: ColumnSpec): string {
  const places = fieldColumns(spec).map((column) => [
    pathOf(column),
    isConstant(column) ? (column.from ?? 'job') : null,
  ]);
  return createHash('sha256')
    .update(encodeHeader(asWritten(spec), path))
    .update(JSON.stringify([COLUMNS_VERSION, source, bytes, modifiedMs, places, spec.dialect.missing]))
    .digest('hex')
    .slice(0, 32);
}

/** By path in the cache: a process makes each of them once at a time. */
const underWay = new Map<string, Promise<void>>();

/** The file of columns in the cache, which is made if it is missing, or damaged. */
export async function openColumns(place: DataPlace, path: string, columns: ColumnSpec): Promise<Content> {
  const { disk } = place.host;
  const facts = await inspectFile(place, path);
  const folder = join(place.cacheFolder, 'columns');
  const name = basename(path).slice(0, NAME_CHARACTERS);
  const cached = join(folder, `${name}-${keyOf(absolutePath(place, path), path, facts, columns)}`);
  for (let isAgain = false; ; isAgain = true) {
    if (!(await disk.exists(cached))) {
      const make = (): Promise<void> => makeColumns(place, path, columns, facts, cached);
      const making = underWay.get(cached) ?? make().finally(() => underWay.delete(cached));
      underWay.set(cached, making);
      await making;
    }
    const file = await disk.open(cached);
    const content = { path, file, facts, bytes: await file.size() };
    try {
      await countColumns(content, columns);
      return content;
    } catch (error) {
      await file.close();
      if (isAgain || !isPaddletError(error)) throw error;
      place.host.log.warn('columns in the data cache are damaged; paddlet makes them again', { path: cached });
      await disk.remove(cached);
    }
  }
}

/** Another process may do the same: the first one that is done removes what others have started. */
async function makeColumns(
  place: DataPlace,
  path: string,
  columns: ColumnSpec,
  facts: FileFacts,
  cached: string,
): Promise<void> {
  const { disk } = place.host;
  const isUnchanged = async (): Promise<void> => {
    const now = await inspectFile(place, path);
    if (now.bytes === facts.bytes && now.modifiedMs === facts.modifiedMs) return;
    throw new PaddletError('DataChanged', `${path} changed while it was being read`);
  };
  const content = await openContent(place, path, true);
  try {
    const source = { content, columns, readFile: readParquet, onBytes: () => {}, isCopy: true };
    await writeColumns(place, cached, source, isUnchanged);
  } catch (error) {
    // Only the cache is written to.
    const isOfCache = error instanceof Error && 'syscall' in error && error.syscall !== 'read';
    if (!isOfCache) throw error;
    // If another process was faster, it has removed what this one has started.
    if (!(await disk.exists(cached))) throw cacheFailed(dirname(cached), error);
  } finally {
    await content.file.close();
  }
  await removePartial(disk, cached);
}
