/** Reads a Parquet file to records, one row group after the other. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { Content } from '../../bytes/content.ts';
import { type ColumnSpec, pathOf } from '../../columns/column.ts';
import { layoutByPath } from '../../columns/layout.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import { ANY_LABEL, type LabelRule } from '../../labels.ts';
import type { PieceSink } from '../../piece.ts';
import type { ReadFile, WholeFile } from '../format.ts';
import { type DialectBytes, type Target, type ValuePlan, valuePlanOf } from '../text/plan.ts';
import { readColumn } from './column.ts';
import { unsupported } from './fault.ts';
import { type Footer, leafNamed, type ReadBytes, readFooter } from './footer.ts';
import { GroupRecords } from './group-records.ts';
import type { Leaf } from './schema.ts';
import { takenOf } from './take-values.ts';
import { rowsOf } from './taken.ts';

/** Nothing separates values, and decimals have a point. */
const DIALECT: DialectBytes = { delimiter: -1, quote: -1, comment: -1, decimal: '.'.charCodeAt(0) };

export interface FilePlan {
  readonly footer: Footer;
  readonly plan: ValuePlan;
  readonly columns: readonly { readonly target: Target; readonly leaf: Leaf }[];
  readonly read: ReadBytes;
}

/** As `Format.readFile`. */
export async function readParquet(content: Content, how: WholeFile, sink: PieceSink<ColumnPiece>): Promise<ReadFile> {
  const { path } = content;
  const { onBytes, beforeRead = async () => {} } = how;
  const file = await planFile(content, how.columns, how.labels, onBytes);
  const layout = layoutByPath(how.columns);
  const { groups, rows } = file.footer;
  for (const group of groups.keys()) {
    const records = (await readGroup(file, group)).pass(path, sink);
    let passed = records.next();
    for (; passed.done !== true; passed = records.next()) await beforeRead();
    if (!passed.value) return { layout, isWhole: false };
  }
  if ((await content.file.size()) !== content.bytes) {
    throw new PaddletError('DataChanged', `${path} changed while it was being read`);
  }
  return { layout: rows === 0 ? undefined : layout, isWhole: true };
}

/** Rows, by the footer. Throws `DataInvalid`, even when only the columns are not those of the job. */
export async function countParquet(content: Content, columns: ColumnSpec): Promise<number> {
  return (await planFile(content, columns, ANY_LABEL)).footer.rows;
}

export const bytesOf =
  (file: Content['file'], onBytes: (count: number) => void): ReadBytes =>
  async (offset, count) => {
    const room = new Uint8Array(count);
    const got = await file.read(room, offset);
    onBytes(got);
    return room.subarray(0, got);
  };

/** Where the columns of the job are in a file. */
export async function planFile(
  { path, bytes, file }: Content,
  spec: ColumnSpec,
  labels: LabelRule,
  onBytes: (count: number) => void = () => {},
): Promise<FilePlan> {
  const read = bytesOf(file, onBytes);
  const footer = await readFooter(path, bytes, read);
  const plan = valuePlanOf(DIALECT, spec, layoutByPath(spec), labels, path);
  const targets = plan.targets.filter((target) => target !== undefined);
  const columns = targets.map((target) => {
    const leaf = leafNamed(footer, pathOf(target.column).join('.'));
    refuseUnfit(path, target, leaf);
    return { target, leaf };
  });
  return { footer, plan, columns, read };
}

/** `others`: columns that are read besides, and count with them. */
export async function readGroup(
  { footer, plan, columns, read }: FilePlan,
  group: number,
  others = 0,
): Promise<GroupRecords> {
  const { rows, firstRow } = footer.groups[group]!;
  let values = 0;
  const count = (more: number): void => {
    values += more;
    if (values <= LIMITS.parquetGroupValues) return;
    const what = `its row group ${group} has more than ${LIMITS.parquetGroupValues} values of the columns of the job`;
    throw new PaddletError('DataInvalid', `${footer.path}: ${what}`, {
      hint: 'write the file again with smaller row groups',
    });
  };
  count(rows * (columns.length + others));
  const records = new GroupRecords(plan, rows, firstRow);
  for (const { target, leaf } of columns) {
    const column = await readColumn(footer, group, leaf, read);
    count(column.elements - rows);
    const taken = takenOf(target, leaf, column.values, plan, leaf.element !== undefined);
    records.add(target, rowsOf(target, taken, column, plan));
  }
  return records;
}

/** What no value of a column can be. */
function refuseUnfit(path: string, target: Target, { name, meaning, element }: Leaf): void {
  const { column } = target;
  if (element !== undefined && column.type !== 'categories') {
    throw unsupported(
      path,
      `column ${name} has lists: only a column of type categories reads them, not ${column.type}`,
    );
  }
  const isTime = meaning.kind === 'timestamp' || meaning.kind === 'date' || meaning.kind === 'time';
  const isNumber = target.kind === 'number' || target.kind === 'weight' || (target.kind === 'label' && !target.texts);
  if (isNumber && (isTime || meaning.kind === 'uuid')) {
    throw unsupported(
      path,
      `column ${name} has values of the kind ${meaning.kind}, the job reads it as ${column.type}`,
    );
  }
  if (target.kind === 'text' && (meaning.kind === 'time' || meaning.kind === 'boolean' || meaning.kind === 'uuid')) {
    throw unsupported(path, `column ${name} has values of the kind ${meaning.kind}, which say no time of a record`);
  }
}
