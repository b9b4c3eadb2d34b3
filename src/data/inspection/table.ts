/**
 * A look at a table: its first records say how it is divided, and what its columns may be; then all of its records are
 * read once, in bounded memory.
 */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Dialect } from '../columns/column.ts';
import { contentBlocks, type Head } from '../content.ts';
import { dialectBytes } from '../formats/csv/fields.ts';
import type { DataPlace } from '../place.ts';
import { type ColumnFacts, type ColumnGuess, ColumnProfile } from './column-profile.ts';
import { dialectOf, type TableDialect, withoutMark } from './dialect.ts';
import type { DistinctValues } from './distinct.ts';
import { decimalOf, hasHeader } from './header.ts';
import { slotOf } from './histogram.ts';
import { labelOf } from './label.ts';
import { separatorOf } from './lists.ts';
import { readAllRecords, readRecords } from './records.ts';
import { isMissingText, shownText } from './texts.ts';
import { timeFormatOf } from './times.ts';

/** How a table is written. */
export type TableForm = TableDialect & Pick<Dialect, 'header' | 'decimal'>;

export interface TableLook {
  readonly path: string;
  readonly form: TableForm;
  readonly columns: readonly ColumnFacts[];
  readonly records: number;
  /** All records of the file were read. */
  readonly isWhole: boolean;
  /** Records with another number of fields, or text behind a closing quote: how many, and lines of the first ones. */
  readonly bad: { readonly records: number; readonly lines: readonly number[] };
  readonly label: { readonly column: number; readonly why: string } | undefined;
  /** Columns that nearly equal the label. */
  readonly leaks: readonly string[];
  /** The values of each column: for a second file. */
  readonly distinct: readonly DistinctValues[];
}

export interface LookOptions {
  /** Most records to look at. */
  readonly records?: number | undefined;
  /** Name of the label; it is guessed without one. */
  readonly label?: string | undefined;
  /** A file that it is compared with. */
  readonly first?: TableLook | undefined;
  /** Told of each stretch of bytes read. */
  readonly onBytes?: (count: number) => void;
}

const FIRST_RECORDS = 1000;
/** Values that are kept of all columns together, and of one. */
const KEPT_VALUES = 1 << 19;
const LEAST_KEPT = 64;
const MOST_KEPT = 4096;
const SHOWN_LINES = 5;
/** Labels that are told apart. */
const LABELS = 64;
const LEAK = 0.99;
/** Above the share of the most frequent label. */
const ABOVE_MAJORITY = 0.5;

/** Throws as `openContent`, and `DataInvalid` when it is no table. */
export async function lookAtTable(
  place: DataPlace,
  path: string,
  head: Head,
  options: LookOptions = {},
): Promise<TableLook> {
  const { form, rows } = firstRows(path, head);
  const first = rows[0] ?? [];
  if (first.length > LIMITS.columns) {
    throw new PaddletError('DataInvalid', `${path}: ${first.length} fields, more than ${LIMITS.columns}`);
  }
  const below = form.header ? rows.slice(1) : rows;
  const names = first.map(shownText);
  const guesses = first.map((_, at) => {
    return guessOf(
      nameOf(form, names, at),
      below.map((row) => row[at] ?? ''),
      form,
    );
  });
  const label = chosenLabel(path, guesses, below, form, options.label);
  const read = new TableReader(guesses, form, label?.column, options);
  const onBytes = options.onBytes ?? (() => {});
  async function* blocks(): AsyncGenerator<Uint8Array> {
    let isFirst = true;
    for await (const block of contentBlocks(place, path)) {
      onBytes(block.length);
      yield isFirst ? withoutMark(block) : block;
      isFirst = false;
    }
  }
  await readAllRecords(path, blocks(), bytesOf(form), (record) =>
    read.take(record.fields, record.line, record.isFaulty),
  );
  return { path, form, label, ...read.facts() };
}

const bytesOf = ({ delimiter, quote, comment, decimal }: TableForm) =>
  dialectBytes({ delimiter, quote, comment, decimal, header: false, missing: [] });

function firstRows(path: string, { bytes, isWhole }: Head): { form: TableForm; rows: (readonly string[])[] } {
  const dialect = dialectOf(path, bytes, isWhole);
  const rows: (readonly string[])[] = [];
  readRecords(
    withoutMark(bytes),
    bytesOf({ ...dialect, header: false, decimal: '.' }),
    { firstLine: 1, isLast: isWhole },
    ({ fields }) => {
      rows.push(fields);
      return rows.length <= FIRST_RECORDS;
    },
  );
  const decimal = decimalOf(rows, dialect.delimiter);
  return { form: { ...dialect, decimal, header: hasHeader(rows, decimal) }, rows };
}

/** That of the header; a column without a name, or with that of another, is called by its place. */
function nameOf({ header }: TableForm, names: readonly string[], at: number): Pick<ColumnGuess, 'name' | 'hasName'> {
  const name = names[at]!;
  const isName = header && name !== '' && name.length <= LIMITS.columnNameCharacters;
  const isFirst = names.indexOf(name) === at;
  if (isName && isFirst) return { name, hasName: names.lastIndexOf(name) === at };
  let place = `c${at + 1}`;
  while (header && names.includes(place)) place += '_';
  return { name: place, hasName: false };
}

function guessOf(
  named: Pick<ColumnGuess, 'name' | 'hasName'>,
  texts: readonly string[],
  { delimiter }: TableForm,
): ColumnGuess {
  const time = timeFormatOf(texts, named.hasName ? named.name : undefined);
  return { ...named, time: time?.format, otherTime: time?.orElse, separator: separatorOf(texts, delimiter) };
}

function chosenLabel(
  path: string,
  guesses: readonly ColumnGuess[],
  rows: readonly (readonly string[])[],
  form: TableForm,
  wanted: string | undefined,
): TableLook['label'] {
  if (wanted === undefined) {
    const read = new TableReader(guesses, { ...form, header: false }, undefined, {});
    for (const [at, fields] of rows.entries()) read.take(fields, at + 1, false);
    return labelOf(read.facts().columns);
  }
  const column = guesses.findIndex(({ name }) => name === wanted);
  if (column >= 0) return { column, why: 'as you say' };
  throw new PaddletError('Usage', `${path} has no column ${wanted}`, {
    hint: `its columns are ${guesses.map(({ name }) => name).join(', ')}`,
  });
}

class TableReader {
  readonly #columns: readonly ColumnProfile[];
  readonly #most: number;
  readonly #label: number | undefined;
  readonly #labels = new Map<string, number>();
  readonly #labelCounts: number[] = [];
  readonly #badLines: number[] = [];
  #isHeaderDue: boolean;
  #records = 0;
  #bad = 0;
  #isWhole = true;

  constructor(
    guesses: readonly ColumnGuess[],
    { header, decimal }: TableForm,
    label: number | undefined,
    { records, first }: LookOptions,
  ) {
    const most = Math.max(LEAST_KEPT, Math.min(MOST_KEPT, Math.floor(KEPT_VALUES / guesses.length)));
    this.#columns = guesses.map((guess, at) => {
      return new ColumnProfile(guess, { decimal, most }, first?.distinct[placeIn(first, guess.name, at, header)]);
    });
    this.#most = records ?? Number.POSITIVE_INFINITY;
    this.#label = label;
    this.#isHeaderDue = header;
  }

  /** False when it wants no more records. */
  take(fields: readonly string[], line: number, isFaulty: boolean): boolean {
    if (this.#isHeaderDue) {
      this.#isHeaderDue = false;
      return true;
    }
    if (this.#records + this.#bad === this.#most) {
      this.#isWhole = false;
      return false;
    }
    if (isFaulty || fields.length !== this.#columns.length) {
      this.#bad += 1;
      if (this.#badLines.length < SHOWN_LINES) this.#badLines.push(line);
      return true;
    }
    const label = this.#label === undefined ? undefined : this.#labelOf(fields[this.#label]!);
    const slot = slotOf(this.#records);
    this.#records += 1;
    for (let at = 0; at < fields.length; at++) this.#columns[at]!.add(fields[at]!, label, slot);
    return true;
  }

  /** Its number; undefined when there are too many labels, or it has none. */
  #labelOf(text: string): number | undefined {
    if (isMissingText(text)) return undefined;
    let label = this.#labels.get(text);
    if (label === undefined) {
      if (this.#labels.size === LABELS) return undefined;
      label = this.#labels.size;
      this.#labels.set(text, label);
      this.#labelCounts.push(0);
    }
    this.#labelCounts[label]! += 1;
    return label;
  }

  facts(): Omit<TableLook, 'path' | 'form' | 'label'> {
    const columns = this.#columns.map((column) => column.facts());
    const majority = Math.max(0, ...this.#labelCounts) / Math.max(1, this.#records);
    const least = Math.max(LEAK, majority + ABOVE_MAJORITY * (1 - majority));
    return {
      columns,
      records: this.#records,
      isWhole: this.#isWhole,
      bad: { records: this.#bad, lines: this.#badLines },
      leaks: columns.filter(({ explained }, at) => at !== this.#label && explained >= least).map(({ name }) => name),
      distinct: this.#columns.map(({ distinct }) => distinct),
    };
  }
}

/** Where the first file has the same column: by name if both have names. */
function placeIn({ form, columns }: TableLook, name: string, at: number, hasNames: boolean): number {
  return form.header && hasNames ? columns.findIndex((column) => column.name === name) : at;
}
