/** A Parquet file as a table: its leaves are columns. One column of one row group is in memory at a time. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Content } from '../bytes/content.ts';
import { readColumn } from '../formats/parquet/column.ts';
import { readFooter } from '../formats/parquet/footer.ts';
import { bytesOf } from '../formats/parquet/reader.ts';
import { listTexts } from '../formats/parquet/row-texts.ts';
import type { Leaf } from '../formats/parquet/schema.ts';
import { namedBy, withOwnNames } from './keys.ts';
import { FIRST_RECORDS, LIST_SEPARATOR, MOST_UNLISTED, type SourceColumn, type TableSource } from './table-source.ts';

/** `most`: records that are looked at. Throws `DataInvalid`. */
export async function parquetTable(
  content: Content,
  most: number,
  onBytes: (count: number) => void,
): Promise<TableSource> {
  const { path, bytes, file } = content;
  const readBytes = bytesOf(file, onBytes);
  const footer = await readFooter(path, bytes, readBytes);
  if (footer.rows === 0 || footer.leaves.length === 0) {
    throw new PaddletError('DataInvalid', `${path} has no records`, { hint: 'choose a file that contains records' });
  }
  const leaves = footer.leaves.slice(0, LIMITS.columns);
  const once = new Set<string>();
  const again = new Set<string>();
  for (const { name } of footer.leaves) (once.has(name) ? again : once).add(name);
  const columns = withOwnNames(leaves.map((leaf) => columnOf(leaf, !again.has(leaf.name))));
  const textsOf = async (group: number, at: number): Promise<(row: number) => string> => {
    if (columns[at]!.unreadable !== undefined) return () => '';
    return listTexts(leaves[at]!, await readColumn(footer, group, leaves[at]!, readBytes), LIST_SEPARATOR);
  };
  const rows: string[][] = [];
  for (const [group, { rows: count }] of footer.groups.entries()) {
    const first = rows.length;
    const taken = Math.min(count, Math.min(FIRST_RECORDS, most) - first);
    if (taken <= 0) continue;
    for (let row = 0; row < taken; row++) rows.push([]);
    for (const at of columns.keys()) {
      const textOf = await textsOf(group, at);
      for (let row = 0; row < taken; row++) rows[first + row]!.push(textOf(row));
    }
  }
  return {
    ...{ path, columns, rows },
    form: { format: 'parquet', rowGroups: footer.groups.length },
    unlisted: footer.leaves.slice(LIMITS.columns, LIMITS.columns + MOST_UNLISTED).map(({ name }) => name),
    async read(sink) {
      for (const [group, { rows: count }] of footer.groups.entries()) {
        if (!(await sink.takeColumns(count, (column) => textsOf(group, column)))) return;
      }
      if ((await file.size()) !== bytes) {
        throw new PaddletError('DataChanged', `${path} changed while it was being read`);
      }
    },
  };
}

function columnOf(leaf: Leaf, isOnce: boolean): SourceColumn {
  const { name, path, meaning, element, unsupported } = leaf;
  const named = namedBy(name === path[0] ? [name] : name.split('.'));
  const stored = storedAs(leaf);
  return {
    ...named,
    unreadable: unsupported ?? (isOnce ? named.unreadable : 'its name occurs twice'),
    stored: element === undefined ? stored : `list of ${stored}`,
    isList: element !== undefined,
    isTime: element === undefined && (meaning.kind === 'timestamp' || meaning.kind === 'date'),
  };
}

const UNSIGNED: Readonly<Record<string, string>> = { u32: 'UINT32', u64: 'UINT64' };

function storedAs({ meaning: { kind }, storage, physical, unsupported }: Leaf): string {
  if (kind === 'float' && physical === 'FIXED_LEN_BYTE_ARRAY') return 'FLOAT16';
  if (unsupported !== undefined || kind === 'integer' || kind === 'float') return UNSIGNED[storage] ?? physical;
  return kind;
}
