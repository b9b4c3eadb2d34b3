/**
 * Parquet files as a data format. A row group is decoded at once, and a task is a small part of one: so a file becomes
 * columns in the cache, as a gzip file is inflated there, and tasks are read from these.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { FileFacts } from '../../../base/seams.ts';
import { type ColumnSpec, pathOf } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import { type Content, inCache, inspectFile, openContent } from '../../content.ts';
import { absolutePath, type DataPlace } from '../../place.ts';
import { columnsFormat } from '../columns/format.ts';
import { encodeHeader } from '../columns/header.ts';
import { indexColumns } from '../columns/indexer.ts';
import { asWritten, writeColumns } from '../columns/write-file.ts';
import type { Format } from '../format.ts';
import { countParquet, readParquet } from './reader.ts';

/** Raise this when the same file would become other columns. */
const COLUMNS_VERSION = 1;

const { find, read, input, hasFields, hasLabelFiles, parserVersion } = columnsFormat;

export const parquetFormat: Format = {
  ...{ find, read, input, hasFields, hasLabelFiles, parserVersion: parserVersion! },
  placing: 'path',
  takesParquet: true,
  open: openColumns,
  index: (place, found, into) => indexColumns(place, found, into, openColumns),
  readFile: readParquet,
  async countRecords(place, path, columns) {
    assert(columns !== undefined, 'a Parquet file has columns');
    const content = await openContent(place, path, true);
    try {
      return await countParquet(content, columns);
    } finally {
      await content.file.close();
    }
  },
};

/** By the file, and by what decides the values of its columns: not by what a job makes of these. */
function keyOf(source: string, path: string, { bytes, modifiedMs }: FileFacts, spec: ColumnSpec): string {
  const places = fieldColumns(spec).map((column) => [pathOf(column), column.from ?? null]);
  return createHash('sha256')
    .update(encodeHeader(asWritten(spec), path))
    .update(JSON.stringify([COLUMNS_VERSION, source, bytes, modifiedMs, places, spec.dialect.missing]))
    .digest('hex')
    .slice(0, 32);
}

/** The file of columns in the cache, which is made if it is missing. */
async function openColumns(place: DataPlace, path: string, columns: ColumnSpec): Promise<Content> {
  const { disk } = place.host;
  const facts = await inspectFile(place, path);
  const folder = join(place.cacheFolder, 'columns');
  const cached = join(folder, `${basename(path)}-${keyOf(absolutePath(place, path), path, facts, columns)}`);
  if (!(await disk.exists(cached))) {
    const content = await openContent(place, path, true);
    try {
      const source = { content, columns, readFile: readParquet, onBytes: () => {}, isCopy: true };
      await inCache(folder, () => writeColumns(place, cached, source));
    } finally {
      await content.file.close();
    }
    const now = await inspectFile(place, path);
    if (now.bytes !== facts.bytes || now.modifiedMs !== facts.modifiedMs) {
      await disk.remove(cached);
      throw new PaddletError('DataChanged', `${path} changed while it was being read`);
    }
  }
  const file = await disk.open(cached);
  return { path, file, facts, bytes: await file.size() };
}
