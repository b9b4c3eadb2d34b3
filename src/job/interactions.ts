/** `data.format: interactions`: what a job does not say of its columns. */
import { type ColumnsFile, columnsSchema, type DialectFile, resolveColumns, resolveDialect } from './columns.ts';
import { typeOf } from './selection.ts';

interface InteractionsData {
  readonly columns?: ColumnsFile | undefined;
  readonly csv?: DialectFile | undefined;
  readonly groupBy?: string | undefined;
}

const USER_AND_ITEM = columnsSchema.parse({
  user: { type: 'category', position: 1 },
  item: { type: 'category', position: 2 },
});
/** Whatever was in a list of interactions has happened. */
const LABEL = columnsSchema.parse({ label: { type: 'label', value: 1 } });

/**
 * The groups are those of the first field, or of the first column where a header says where it is: of a category
 * without buckets, unless there is a column of groups.
 */
export function interactionsOf<T extends InteractionsData>(data: T): T & Pick<InteractionsData, 'columns' | 'groupBy'> {
  const { columns: written = USER_AND_ITEM, csv } = data;
  const types = Object.values(written).map(typeOf);
  // The rules report a column that is called label and is not a label.
  const columns = types.includes('label') || 'label' in written ? written : { ...written, ...LABEL };
  const dialect = resolveDialect('interactions', csv, undefined);
  const resolved = resolveColumns(columns, dialect).filter((column) => column.type !== 'cross');
  const first = resolved.find(({ position }) => position === 1) ?? (dialect.header ? resolved[0] : undefined);
  const isGroup = first?.type === 'category' && first.buckets === undefined && !types.includes('group');
  const groupBy = data.groupBy ?? (isGroup ? first.name : undefined);
  return { ...data, columns, ...(groupBy === undefined ? {} : { groupBy }) };
}
