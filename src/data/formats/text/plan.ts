/** What becomes of each value of a record: a function of the columns, the layout of a file, and the labels wanted. */
import { PaddletError } from '../../../base/errors.ts';
import { parseDecimal } from '../../ascii.ts';
import {
  type CategoryColumn,
  type ColumnSlots,
  type ColumnSpec,
  type FieldColumn,
  isSingle,
  type LabelColumn,
  type NumberColumn,
  slotsOf,
  type TimeColumn,
  vocabularyOf,
} from '../../columns/column.ts';
import { vocabularySeed } from '../../columns/hash.ts';
import { fieldColumns } from '../../columns/layout.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import { Times } from '../../columns/times.ts';
import type { LabelRule } from '../../labels.ts';
import type { FileLayout } from '../../source.ts';
import type { LineReader, LineReading, LineText } from './lines.ts';

const COMMA = 44;
const POINT = 46;

export type Target =
  | { readonly kind: 'number'; readonly slot: number; readonly column: NumberColumn }
  | { readonly kind: 'single'; readonly slot: number; readonly column: CategoryColumn; readonly seed: bigint }
  | {
      readonly kind: 'list';
      readonly slot: number;
      readonly column: CategoryColumn;
      /** Undefined when ids are the numbers themselves. */
      readonly seed: bigint | undefined;
    }
  | {
      readonly kind: 'label';
      readonly column: LabelColumn;
      /** Undefined when labels are numbers. */
      readonly texts: LabelTexts | undefined;
    }
  | { readonly kind: 'weight'; readonly column: FieldColumn }
  | { readonly kind: 'text'; readonly slot: number; readonly column: TimeColumn }
  | {
      readonly kind: 'group';
      readonly column: FieldColumn;
      /** Undefined when they are whole numbers. */
      readonly seed: bigint | undefined;
    };

export interface LabelTexts {
  /** Keyed by the bytes of the text, as Latin-1. */
  readonly labels: ReadonlyMap<string, number>;
  /** By the number that a text of `labels` is: a text that is the same number has that label, as `4.0` for `4`. */
  readonly numbers: ReadonlyMap<number, number>;
  /** Label of all other texts; NaN if they are bad. */
  readonly other: number;
  /** The name of the column: among all other texts the plain form looks at it, as the header may be there again. */
  readonly name: string | undefined;
  /** Known texts, for messages. */
  readonly known: readonly string[];
}

/** What becomes of the values of a record, wherever they are. */
export interface ValuePlan {
  readonly dialect: DialectBytes;
  readonly slots: ColumnSlots;
  readonly fields: number;
  /** By field; undefined for one that is not read. */
  readonly targets: readonly (Target | undefined)[];
  /** Columns whose value is in the path, with that value. */
  readonly constants: readonly { readonly target: Target; readonly text: string; readonly from: 'folder' | 'job' }[];
  /** Texts that mean a missing value, as bytes. */
  readonly missing: readonly Uint8Array[];
  readonly labels: LabelRule;
  readonly hasWeights: boolean;
  readonly hasGroups: boolean;
  /** Undefined without a column of type time. */
  readonly times: Times | undefined;
}

export interface LinePlan extends ValuePlan {
  readonly form: LineForm;
}

/** How the lines of a file are read. */
export interface LineForm extends Pick<LineReading<ColumnPiece>, 'rules' | 'leastBytes' | 'wholeRecords'> {
  readonly kernel: 'parseCsv' | 'parseJson' | 'parseInteractions';
  readonly dialect: DialectBytes;
  /** JSON: those that are read. */
  readonly keys: readonly ObjectKey[];
  /** Lines that are not UTF-8 are for the plain form. */
  readonly isUtf8: boolean;
  /** What follows the last field of a line that is read is not a part of the record. */
  readonly hasRest?: boolean;
  reader(text: LineText, plan: LinePlan): LineReader<ColumnPiece>;
}

/** The characters of a dialect as bytes; -1 where it has none. */
export interface DialectBytes {
  readonly delimiter: number;
  /** It divides only where it is there twice. */
  readonly isDouble?: boolean;
  /** Several delimiters in a row count as one, and those at the beginning of a line do not count. */
  readonly isRun?: boolean;
  readonly quote: number;
  /** A line that begins with this byte is not a record. */
  readonly comment: number;
  readonly decimal: number;
}

export interface ObjectKey {
  /** The object that has it: 0 for that of the line, n for the value of the nth key of the list, which is before it. */
  readonly parent: number;
  readonly text: Uint8Array;
  /** Field of its value; undefined if the value is an object. */
  readonly field: number | undefined;
}

/** Throws `DataInvalid` when a folder of the path lacks a value. */
export function planOf(
  form: LineForm,
  spec: ColumnSpec,
  layout: FileLayout,
  labels: LabelRule,
  path: string,
): LinePlan {
  return { ...valuePlanOf(form.dialect, spec, layout, labels, path), form };
}

/** Throws as `planOf`. */
export function valuePlanOf(
  dialect: DialectBytes,
  spec: ColumnSpec,
  layout: FileLayout,
  labels: LabelRule,
  path: string,
): ValuePlan {
  const slots = slotsOf(spec.columns);
  const columns = fieldColumns(spec);
  const targets: (Target | undefined)[] = new Array(layout.fields).fill(undefined);
  const constants: LinePlan['constants'][number][] = [];
  columns.forEach((column, at) => {
    const target = targetOf(column, slots, dialect);
    if (target === undefined) return;
    if (column.type === 'label' && column.value !== undefined) {
      constants.push({ target, text: String(column.value), from: 'job' });
    } else if (column.from === 'folder') {
      constants.push({ target, text: folderValue(path, column.name), from: 'folder' });
    } else targets[layout.positions[at]!] = target;
  });
  return {
    dialect,
    slots,
    fields: layout.fields,
    targets,
    constants,
    missing: spec.dialect.missing.map((text) => Buffer.from(text)),
    labels,
    hasWeights: columns.some(({ type }) => type === 'weight'),
    hasGroups: columns.some(({ type }) => type === 'group'),
    times: timesOf(slots, dialect.decimal),
  };
}

function timesOf({ texts }: ColumnSlots, decimal: number): Times | undefined {
  const slot = texts.findIndex(({ type }) => type === 'time');
  return slot < 0 ? undefined : new Times(texts[slot]!, slot, { decimal: decimal === COMMA ? ',' : '.' });
}

function targetOf(
  column: FieldColumn,
  { numbers, single, lists, texts }: ColumnSlots,
  dialect: DialectBytes,
): Target | undefined {
  switch (column.type) {
    case 'number':
      return { kind: 'number', slot: numbers.indexOf(column), column };
    case 'category':
    case 'categories': {
      const vocabulary = vocabularyOf(column);
      const seed = vocabulary === undefined ? undefined : vocabularySeed(vocabulary);
      if (isSingle(column)) return { kind: 'single', slot: single.indexOf(column), column, seed: seed! };
      return { kind: 'list', slot: lists.indexOf(column), column, seed };
    }
    case 'label':
      return { kind: 'label', column, texts: labelTexts(column, dialect) };
    case 'weight':
      return { kind: 'weight', column };
    case 'group':
      return { kind: 'group', column, seed: column.ids === 'hash' ? vocabularySeed(column.name) : undefined };
    case 'time':
      return { kind: 'text', slot: texts.indexOf(column), column };
    case 'ignore':
      return undefined;
  }
}

/** Maximum bytes of each record that are in the path. */
export const pathBytes = (path: string, { columns }: ColumnSpec): number =>
  columns.some((column) => column.type !== 'cross' && column.from === 'folder') ? 2 * path.length : 0;

/** The value of `name=value`, a folder of the path; escaped as in URLs. Throws `DataInvalid`. */
export function folderValue(path: string, name: string): string {
  const folder = path
    .split('/')
    .slice(0, -1)
    .findLast((part) => part.startsWith(`${name}=`));
  if (folder === undefined) {
    throw new PaddletError('DataInvalid', `no folder in ${path} is named ${name}=…`, {
      hint: `put the file in a folder ${name}=VALUE: the column ${name} is read from the path (from: folder)`,
    });
  }
  const value = folder.slice(name.length + 1);
  try {
    return decodeURIComponent(value);
  } catch {
    // It is not an escaped text, so it is taken literally.
    return value;
  }
}

function labelTexts(
  { name, positive = [], negative, classes }: LabelColumn,
  dialect: DialectBytes,
): LabelTexts | undefined {
  const ofClasses = classes?.map((text, label): [string, number] => [text, label]);
  const ofTwo = [
    ...positive.map((text): [string, number] => [text, 1]),
    ...(negative ?? []).map((text): [string, number] => [text, 0]),
  ];
  const entries = ofClasses ?? ofTwo;
  if (entries.length === 0) return undefined;
  const other = classes === undefined && negative === undefined ? 0 : Number.NaN;
  return {
    labels: new Map(entries.map(([text, label]) => [Buffer.from(text).toString('latin1'), label])),
    numbers: labelNumbers(entries, dialect),
    other,
    name: other === 0 && entries.every(([text]) => text !== name) ? Buffer.from(name).toString('latin1') : undefined,
    known: entries.map(([text]) => text),
  };
}

function labelNumbers(entries: readonly (readonly [string, number])[], dialect: DialectBytes): Map<number, number> {
  const numbers = new Map<number, number>();
  for (const [text, label] of entries) {
    const number = labelNumber(Buffer.from(text), 0, Buffer.byteLength(text), dialect);
    if (number === undefined) continue;
    // Where "1" and "01" are two classes, nothing says which one "1.0" is.
    numbers.set(number, (numbers.get(number) ?? label) === label ? label : Number.NaN);
  }
  return numbers;
}

/** Numbers from here on are not compared: different texts may be the same f64. */
const MOST_LABEL_NUMBER = 2 ** 53;

/** The number of a label's text; undefined if it is not a number that can be compared. */
export function labelNumber(
  content: Uint8Array,
  from: number,
  to: number,
  dialect: Pick<DialectBytes, 'decimal'>,
): number | undefined {
  const number = numberOf(content, from, to, dialect);
  // The sum turns -0 into 0.
  return Math.abs(number) < MOST_LABEL_NUMBER ? number + 0 : undefined;
}

/** NaN when the text is not a number. */
export function numberOf(
  content: Uint8Array,
  from: number,
  to: number,
  { decimal }: Pick<DialectBytes, 'decimal'>,
): number {
  if (decimal !== COMMA) return parseDecimal(content, from, to);
  // Makes a copy, which `slice` of a Buffer does not.
  const text = Uint8Array.from(content.subarray(from, to));
  if (text.includes(POINT)) return Number.NaN;
  const comma = text.indexOf(COMMA);
  if (comma >= 0) text[comma] = POINT;
  return parseDecimal(text, 0, text.length);
}
