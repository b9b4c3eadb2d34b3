/**
 * A look at a table: its first records say what its columns may be; then all of its records are read once, in bounded
 * memory.
 */
import { PaddletError } from '../../base/errors.ts';
import type { ColumnFacts, ColumnGuess, FrequentText } from './column-profile.ts';
import { labelOf } from './label.ts';
import { separatorOf } from './lists.ts';
import { withoutStray } from './stray-labels.ts';
import { type TableFacts, TableReader } from './table-reader.ts';
import { hasNames, isOfFields, type SourceColumn, type TableForm, type TableSource } from './table-source.ts';
import { lastKey } from './texts.ts';
import { timeFormatOf } from './times.ts';

export interface TableLook extends TableFacts {
  readonly path: string;
  readonly form: TableForm;
  readonly label: { readonly column: number; readonly why: string } | undefined;
  /** Texts of the label that are rare, and none of its classes: the facts of its column are without them. */
  readonly strayLabels: readonly FrequentText[];
  /** Some names of what is not a column: the first records of JSON lack it, or there are too many. */
  readonly unlisted: readonly string[];
}

export interface LookOptions {
  /** Most records to look at. */
  readonly records?: number | undefined;
  /** Name of the label; it is guessed without one. */
  readonly label?: string | undefined;
  /** A file that it is compared with. */
  readonly first?: TableLook | undefined;
  /** Called with the length of each stretch of bytes read. */
  readonly onBytes?: (count: number) => void;
}

export async function lookAtTable(
  source: TableSource,
  { records, label: wanted, first }: Omit<LookOptions, 'onBytes'>,
): Promise<TableLook> {
  const { path, form, rows } = source;
  const guesses = source.columns.map((column, at) => {
    return guessOf(
      column,
      rows.map((row) => row[at] ?? ''),
      form,
    );
  });
  const decimal = isOfFields(form) ? form.decimal : '.';
  const label = chosenLabel(source, guesses, decimal, wanted);
  const read = new TableReader(guesses, {
    ...{ decimal, records, label: label?.column },
    firstOf: ({ name }, at) => first?.distinct[placeIn(first, name, at, hasNames(form))],
  });
  await source.read(read);
  const facts = read.facts();
  // What JSON values are is known only now.
  const all = facts.columns.map((column, at): ColumnFacts => ({ ...column, ...source.columns[at] }));
  const labelled = all[label?.column ?? -1];
  const { facts: ofLabel, stray } = labelled === undefined ? { stray: [] } : withoutStray(labelled);
  const columns = ofLabel === undefined ? all : all.with(label!.column, ofLabel);
  return { path, form, label, ...facts, columns, strayLabels: stray, unlisted: source.unlisted };
}

function guessOf(column: SourceColumn, texts: readonly string[], form: TableForm): ColumnGuess {
  // What is neither a user nor an item is mostly a rating or a time.
  const mayBeTime = form.format === 'interactions' && column.isId !== true;
  const guessed = timeFormatOf(texts, mayBeTime ? 'time' : column.hasName ? lastKey(column.name) : undefined);
  const time = column.isTime ? { format: 'iso', orElse: undefined } : guessed;
  const separator = column.isList ? undefined : separatorOf(texts, isOfFields(form) ? form.delimiter : '');
  return { ...column, time: time?.format, otherTime: time?.orElse, separator };
}

function chosenLabel(
  { path, rows }: TableSource,
  guesses: readonly ColumnGuess[],
  decimal: '.' | ',',
  wanted: string | undefined,
): TableLook['label'] {
  if (wanted === undefined) {
    const read = new TableReader(guesses, { decimal });
    for (const [at, texts] of rows.entries())
      read.take(texts, at + 1, texts.length === guesses.length ? undefined : '');
    return labelOf(read.facts().columns);
  }
  const column = guesses.findIndex(({ name }) => name === wanted);
  const hint = `its columns are ${guesses.map(({ name }) => name).join(', ')}`;
  if (column < 0) throw new PaddletError('Usage', `${path} does not have a column ${wanted}`, { hint });
  const { unreadable, isList } = guesses[column]!;
  const fault = unreadable ?? (isList ? 'its values are lists' : undefined);
  if (fault === undefined) return { column, why: 'as you say' };
  throw new PaddletError('Usage', `column ${wanted} of ${path} cannot be the label: ${fault}`, { hint });
}

/** Where the first file has the same column: by name if both have names. */
function placeIn({ form, columns }: TableLook, name: string, at: number, isNamed: boolean): number {
  return isNamed && hasNames(form) ? columns.findIndex((column) => column.name === name) : at;
}
