/** Parquet files as a data format: a file becomes columns in the cache, and all else is as of files of columns. */
import { assert } from '../../../base/assert.ts';
import { openContent } from '../../bytes/content.ts';
import { columnsFormat } from '../columns/format.ts';
import { indexColumns } from '../columns/indexer.ts';
import type { Format } from '../format.ts';
import { openColumns } from './cached-columns.ts';
import { openRows } from './forward.ts';
import { countParquet, readParquet } from './reader.ts';

export const parquetFormat: Format = {
  ...columnsFormat,
  placing: 'path',
  takesParquet: true,
  open: openColumns,
  index: (place, found, into) => indexColumns(place, found, into, openColumns),
  readFile: readParquet,
  openRows,
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
