/** Rules between the columns of a job, and what its model can use of them. */
import { LIMITS } from '../base/limits.ts';
import {
  type Column,
  type Dialect,
  type FieldColumn,
  isConstant,
  type LabelColumn,
  pathOf,
  type TimeColumn,
  vocabularyOf,
} from '../data/columns/column.ts';
import { TIME_FORMATS } from '../data/columns/time.ts';
import { patternFault } from '../data/columns/time-pattern.ts';
import { isZone } from '../data/columns/time-zone.ts';
import { type DataFormat, formatOf } from '../data/formats/registry.ts';
import type { Model } from '../model/model.ts';
import {
  type ColumnsFile,
  type DialectFile,
  resolveColumns,
  resolveDialect,
  resolvedDialectSchema,
  WHOLE,
} from './columns.ts';

export interface ColumnRuleBroken {
  /** Below `data`. */
  readonly path: readonly string[];
  readonly message: string;
}

export interface ColumnsUse {
  readonly model: string;
  readonly input: Model['input'];
  readonly task: 'binary' | 'multiclass' | 'regression';
}

/** Rules between columns, and what the model can use. */
export function brokenColumnRules(
  file: {
    readonly columns: ColumnsFile;
    readonly groupBy: string | undefined;
    readonly csv: DialectFile | undefined;
    readonly missing: readonly string[] | undefined;
    readonly format: DataFormat;
  },
  use: ColumnsUse,
): ColumnRuleBroken[] {
  const dialect = resolveDialect(file.format, file.csv, file.missing);
  const columns = resolveColumns(file.columns, dialect);
  return [
    ...dialectRules(dialect, file),
    ...groupRules(columns, file.groupBy),
    ...oneOfTheirKind(columns),
    ...missingLabels(columns, dialect.missing, file.missing === undefined ? 'csv.missing' : 'missing'),
    ...columns.flatMap((column) => columnRules(column, file.columns[column.name], columns, use)),
    ...namingRules(file.columns, columns, dialect),
    ...positionRules(columns),
    ...placingRules(columns, file.format),
    ...pathRules(columns, file.format),
    ...vocabularyRules(columns),
    ...sizeRules(columns),
  ];
}

function dialectRules(
  { delimiter, quote, comment, decimal }: Dialect,
  { format, csv }: { readonly format: DataFormat; readonly csv: DialectFile | undefined },
): ColumnRuleBroken[] {
  const broken: ColumnRuleBroken[] = [];
  const refuse = (field: string, message: string): void => void broken.push({ path: ['csv', field], message });
  if (delimiter.length === 2 && format !== 'interactions') {
    refuse('delimiter', `expected one character: only format interactions can have ${JSON.stringify(delimiter)}`);
  } else if (/^\s\s$/.test(delimiter)) {
    refuse('delimiter', 'expected one blank, which matches any number of blanks');
  }
  if (format === 'interactions' && csv?.quote !== undefined && csv.quote !== 'none') {
    refuse('quote', 'format interactions does not have quotes: use csv');
  }
  if (quote === delimiter) refuse('quote', 'expected a character that differs from the delimiter');
  if (comment !== undefined && (comment === delimiter || comment === quote)) {
    refuse('comment', 'expected a character that differs from the delimiter and from the quote');
  }
  for (const [field, character] of Object.entries({ delimiter, quote, comment })) {
    if (character === undefined || character === null) continue;
    // A comment that begins as a number does would hide records.
    if (/^[-+.]$/.test(character) || character === decimal) {
      refuse(field, `${JSON.stringify(character)} may be part of a number: expected another character`);
    }
    if (field !== 'delimiter' && /^[ \t]$/.test(character)) refuse(field, 'expected a character that is not a blank');
  }
  return broken;
}

/** Why CSV files cannot have the delimiter of `dialect`; undefined if they can. */
export function delimiterFault(dialect: Dialect): string | undefined {
  const parsed = resolvedDialectSchema.shape.delimiter.safeParse(dialect.delimiter);
  if (!parsed.success) return 'expected one ASCII character that is neither a letter nor a digit';
  return dialectRules(dialect, { format: 'csv', csv: undefined })[0]?.message;
}

/** A label that is also a text for a missing value. */
function missingLabels(columns: readonly Column[], missing: readonly string[], field: string): ColumnRuleBroken[] {
  return columns.flatMap((column) => {
    if (column.type !== 'label') return [];
    const texts = [column.positive, column.negative, column.classes].flatMap((all) => all ?? []);
    const both = texts.find((text) => missing.includes(text));
    if (both === undefined) return [];
    return [
      { path: ['columns', column.name], message: `the label ${JSON.stringify(both)} is also listed in ${field}` },
    ];
  });
}

function groupRules(columns: readonly Column[], groupBy: string | undefined): ColumnRuleBroken[] {
  if (groupBy === undefined) return [];
  const refuse = (message: string): ColumnRuleBroken[] => [{ path: ['groupBy'], message }];
  const column = columns.find(({ name }) => name === groupBy);
  if (column?.type !== 'category') return refuse(`${groupBy} is not a column of type category`);
  if (column.buckets !== undefined) return refuse(`different values of ${groupBy} may share one of its buckets`);
  const other = columns.find(({ type }) => type === 'group');
  return other === undefined ? [] : refuse(`the job already has a column of type group: ${other.name}`);
}

/** What says where a column is, by format. */
const PLACINGS = { position: ['position', 'from', 'value'], path: ['path', 'from', 'value'], name: [] } as const;

function placingRules(columns: readonly Column[], format: DataFormat): ColumnRuleBroken[] {
  const { placing = 'name' } = formatOf(format);
  const allowed: readonly string[] = PLACINGS[placing];
  return columns.flatMap((column) =>
    ['position', 'path', 'from', 'value'].flatMap((field) => {
      if (allowed.includes(field) || column[field as keyof Column] === undefined) return [];
      const said = field === 'value' ? 'its files contain the labels' : 'its files define it';
      const why = placing === 'name' ? said : `expected ${allowed.slice(0, 2).join(' or ')}`;
      return [{ path: ['columns', column.name, field], message: `not supported for format ${format}: ${why}` }];
    }),
  );
}

/** Rules for keys that lead to columns: each must lead to a separate value. */
function pathRules(columns: readonly Column[], format: DataFormat): ColumnRuleBroken[] {
  if (formatOf(format).placing !== 'path') return [];
  const broken: ColumnRuleBroken[] = [];
  /** By its keys, the first column that has it or is below it. */
  const known = new Map<string, { readonly name: string; readonly isValue: boolean }>();
  for (const column of columns) {
    if (column.type === 'cross' || column.type === 'ignore' || isConstant(column)) continue;
    const { name } = column;
    const keys = pathOf(column);
    const refuse = (message: string): void =>
      void broken.push({ path: ['columns', name, ...(column.path === undefined ? [] : ['path'])], message });
    if (keys.includes('')) refuse('expected keys separated by single dots');
    if (keys.length > LIMITS.pathKeys) refuse(`expected at most ${LIMITS.pathKeys} keys, got ${keys.length}`);
    for (let depth = 1; depth <= keys.length; depth++) {
      const place = JSON.stringify(keys.slice(0, depth));
      const other = known.get(place);
      const isValue = depth === keys.length;
      known.set(place, other ?? { name, isValue });
      if (other !== undefined && (isValue || other.isValue)) {
        refuse(
          isValue && other.isValue ? `the column ${other.name} has the same value` : `give ${other.name} another value`,
        );
        break;
      }
    }
  }
  return broken;
}

function oneOfTheirKind(columns: readonly Column[]): ColumnRuleBroken[] {
  const broken: ColumnRuleBroken[] = [];
  for (const type of ['label', 'weight', 'group', 'time'] as const) {
    const [first, second] = columns.filter((column) => column.type === type);
    if (second !== undefined) {
      broken.push({
        path: ['columns', second.name],
        message: `the job already has a column of type ${type}: ${first?.name}`,
      });
    }
    if (type === 'label' && first === undefined) {
      broken.push({ path: ['columns'], message: 'expected one column of type label' });
    }
  }
  if (!columns.some(({ type }) => type === 'number' || type === 'category' || type === 'categories')) {
    broken.push({ path: ['columns'], message: 'expected a column of type number, category or categories' });
  }
  return broken;
}

function columnRules(
  column: Column,
  written: ColumnsFile[string] | undefined,
  columns: readonly Column[],
  { model, input, task }: ColumnsUse,
): ColumnRuleBroken[] {
  const broken: ColumnRuleBroken[] = [];
  const refuse = (message: string, ...field: string[]): void =>
    void broken.push({ path: ['columns', column.name, ...field], message });
  const isCategory =
    column.type === 'category' ||
    column.type === 'categories' ||
    column.type === 'cross' ||
    (column.type === 'number' && column.quantiles !== undefined);
  if (input === 'dense' && isCategory) {
    refuse(`${model} takes only numbers: leave the column out, or use the model lr, fm, ffm, wide_deep or deepfm`);
  }
  if (
    column.type === 'number' &&
    column.quantiles !== undefined &&
    typeof written === 'object' &&
    'normalize' in written
  ) {
    refuse('not with quantiles: a column with quantiles is a category', 'normalize');
  }
  if (column.type === 'label') {
    const { positive, negative, classes } = column;
    const sets = [positive, negative, classes].flatMap((all) => all ?? []);
    if (classes !== undefined && task !== 'multiclass') {
      const hasTask = model === 'mlp' || model === 'layers';
      refuse(
        hasTask ? 'only for model.task multiclass' : `only for models with classes: ${model} does not have classes`,
        'classes',
      );
    }
    for (const [field, given] of Object.entries({ positive, negative })) {
      if (given !== undefined && task !== 'binary') refuse('only for model.task binary', field);
    }
    if (column.value !== undefined) valueRules(column, task, refuse);
    if (negative !== undefined && positive === undefined) refuse('expected the field positive as well', 'negative');
    if (new Set(sets).size < sets.length) refuse('expected each text once');
  }
  if (column.type === 'categories' && column.ids === 'integer' && /^[-+]$/.test(column.separator)) {
    refuse('expected another character than the sign of a number', 'separator');
  }
  if (column.type === 'time') timeRules(column, written, refuse);
  if (column.type === 'cross') {
    for (const wanted of column.of) {
      const part = columns.find((other) => other.name === wanted);
      const isFit = part?.type === 'category' || (part?.type === 'number' && part.quantiles !== undefined);
      if (!isFit) refuse(`${wanted} is not a column of type category, nor a number with quantiles`, 'cross');
    }
  }
  if ('from' in column && column.from !== undefined) {
    for (const field of ['position', 'path'] as const)
      if (column[field] !== undefined) refuse('not with from: folder', field);
  }
  return broken;
}

function valueRules(
  column: LabelColumn,
  task: ColumnsUse['task'],
  refuse: (message: string, ...field: string[]) => void,
): void {
  for (const field of ['positive', 'negative', 'classes', 'position', 'path'] as const) {
    if (column[field] !== undefined) refuse('not with value, which sets the label of every record', field);
  }
  if (task !== 'binary')
    refuse('expected a column of type label: all records have label 1, which needs model.task binary');
}

function timeRules(
  { format, zone }: TimeColumn,
  written: ColumnsFile[string] | undefined,
  refuse: (message: string, field: string) => void,
): void {
  const isNamed = TIME_FORMATS.some((name) => name === format);
  const fault = isNamed ? undefined : patternFault(format);
  if (fault !== undefined) refuse(fault, 'format');
  if (!isZone(zone)) refuse(`expected an IANA name such as Europe/Oslo, or ±hh:mm, got ${zone}`, 'zone');
  else if (format.startsWith('unix') && typeof written === 'object' && 'zone' in written) {
    refuse(`not with format ${format}, which counts from 1970 in UTC`, 'zone');
  }
}

/** Some columns named by their positions leave no place in the list to the others: they are always before them. */
function namingRules(
  written: ColumnsFile,
  columns: readonly Column[],
  { header }: Pick<Dialect, 'header'>,
): ColumnRuleBroken[] {
  const broken: ColumnRuleBroken[] = [];
  const refuse = (message: string, ...path: string[]): void =>
    void broken.push({ path: ['columns', ...path], message });
  if (columns.length > LIMITS.columns) refuse(`expected at most ${LIMITS.columns} columns, got ${columns.length}`);
  if (header) return broken;
  const fields = columns.filter((column): column is FieldColumn => column.type !== 'cross' && !isConstant(column));
  const numbered = fields.find(({ name }) => WHOLE.test(name));
  for (const { name, position = 0 } of fields) {
    const settings = written[name];
    const isPlaced = typeof settings === 'object' && 'position' in settings;
    if (position > LIMITS.columns) refuse(`expected a position of at most ${LIMITS.columns}`, name);
    else if (numbered !== undefined && !isPlaced && !WHOLE.test(name)) {
      refuse(`expected a position, since the column ${numbered.name} has one`, name);
    }
  }
  return broken;
}

function positionRules(columns: readonly Column[]): ColumnRuleBroken[] {
  const taken = new Map<number, string>();
  const fields = columns.filter((column): column is FieldColumn => column.type !== 'cross');
  return fields.flatMap(({ name: column, position: place }) => {
    if (place === undefined) return [];
    const other = taken.get(place);
    taken.set(place, column);
    return other === undefined
      ? []
      : [{ path: ['columns', column], message: `expected each position once: ${other} also has position ${place}` }];
  });
}

/** `/job` has the bounds of all quantiles, and the store bounds its size. */
function sizeRules(columns: readonly Column[]): ColumnRuleBroken[] {
  const parts = columns.reduce((sum, column) => sum + (column.type === 'number' ? (column.quantiles ?? 0) : 0), 0);
  if (parts <= LIMITS.allQuantiles) return [];
  return [{ path: ['columns'], message: `expected at most ${LIMITS.allQuantiles} quantiles in all, got ${parts}` }];
}

/** Numbers and crosses have ids in a vocabulary of their name; those of buckets depend on how many there are. */
function vocabularyRules(columns: readonly Column[]): ColumnRuleBroken[] {
  const broken: ColumnRuleBroken[] = [];
  const buckets = new Map<string, { readonly name: string; readonly buckets: number | undefined }>();
  for (const column of columns) {
    if (column.type !== 'category' && column.type !== 'categories') continue;
    const { name } = column;
    const vocabulary = vocabularyOf(column);
    if (vocabulary === undefined) continue;
    const refuse = (message: string): void => void broken.push({ path: ['columns', name, 'vocabulary'], message });
    const other = columns.find((one) => one.name === vocabulary && (one.type === 'number' || one.type === 'cross'));
    if (other !== undefined)
      refuse(`expected another name: ${vocabulary} is the vocabulary of a column of type ${other.type}`);
    const first = buckets.get(vocabulary);
    buckets.set(vocabulary, first ?? { name, buckets: column.buckets });
    if (first !== undefined && first.buckets !== column.buckets) {
      refuse(`expected the same buckets as ${first.name}, which shares this vocabulary: ${first.buckets ?? 'none'}`);
    }
  }
  return broken;
}
