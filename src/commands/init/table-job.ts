/** The `data.columns`, `data.csv` and `data.missing` of a job for a table, with the reason of each guess. Pure. */
import type { ColumnFacts } from '../../data/inspection/column-profile.ts';
import type { TableLook } from '../../data/inspection/table.ts';
import { hasNames, isOfFields, LIST_SEPARATOR } from '../../data/inspection/table-source.ts';
import { type TypedColumn, typeOf } from '../../data/inspection/types.ts';
import { delimiterOf } from '../../job/columns.ts';
import { dayText, percent, short } from '../data/inspection-text.ts';
import { isDense, isOfNumbers, type ModelChoice } from './model-choice.ts';
import { line, note } from './yaml-lines.ts';

/** Quantile bins of a skewed column of numbers. */
const QUANTILES = 20;
const TEST_SHARE = 0.2;
/** Values of a column that is a copy of the label, for each label. */
const COPY = 2;
const LEAK = 'nearly equals the label: is it known before that is? ';

/** How the records of the files are written. */
export function formLines({ form }: TableLook, looks: readonly TableLook[]): string[] {
  const texts = missingTexts(looks);
  const missingAt = (depth: number): string[] =>
    texts.length === 0 ? [] : [line(depth, 'missing', ['', ...texts], 'texts that stand for a missing value')];
  if (!isOfFields(form)) return missingAt(1);
  const { format, delimiter, quote, header, decimal } = form;
  const isInteractions = format === 'interactions';
  const comment = looks
    .map((look) => (isOfFields(look.form) ? look.form.comment : undefined))
    .find((character) => character !== undefined);
  const lines = [
    ...(header
      ? []
      : [line(2, 'header', false, 'the columns are in the order of the fields: rename them as you like')]),
    ...(header && isInteractions ? [line(2, 'header', true)] : []),
    ...(delimiter === delimiterOf(format) ? [] : [line(2, 'delimiter', delimiter)]),
    ...(quote === '"' || isInteractions ? [] : [line(2, 'quote', quote ?? 'none')]),
    ...(comment === undefined ? [] : [line(2, 'comment', comment)]),
    ...missingAt(2),
    ...(decimal === '.' ? [] : [line(2, 'decimal', decimal)]),
  ];
  return lines.length === 0 ? [] : [line(1, 'csv', undefined), ...lines];
}

/** Not those that are labels: such records are bad. */
function missingTexts(looks: readonly TableLook[]): string[] {
  const labels = looks.flatMap(({ columns, label }) =>
    label === undefined ? [] : typeOf(columns[label.column]!).top.map(({ text }) => text),
  );
  const texts = looks.flatMap(({ columns, label }) =>
    columns.flatMap((facts, at) => (at === label?.column ? [] : typeOf(facts).missingTexts.map(({ text }) => text))),
  );
  return [...new Set(texts)].filter((text) => !labels.includes(text));
}

export interface ChosenColumns {
  readonly lines: readonly string[];
  /** Columns of numbers that paddlet cannot read as they are written, with what to do. */
  readonly unread: readonly string[];
  /** Columns that the model reads. */
  readonly used: number;
  /** Number of these columns that are categories. */
  readonly categories: number;
  /** The column of times, if there is one. */
  readonly time: ColumnFacts | undefined;
}

export function columnLines(look: TableLook, model: ModelChoice): ChosenColumns {
  const lines: string[] = [];
  const unread: string[] = [];
  let used = 0;
  let categories = 0;
  let time: ColumnFacts | undefined;
  const distinctLabels = typeOf(look.columns[look.label!.column]!).distinct;
  for (const [at, facts] of look.columns.entries()) {
    const isLabel = at === look.label?.column;
    const typed = typeOf(facts);
    const chosen = isLabel ? labelColumn(look, model) : chosenColumn(facts, typed, model, time !== undefined);
    const isLeak = look.leaks.includes(facts.name);
    // As few values as the label has: it is probably only another name for the label.
    const isCopy = isLeak && typed.distinct <= COPY * distinctLabels;
    const { type, why, ...settings } = isCopy ? { type: 'ignore', why: chosen.why } : chosen;
    if (!isLabel && typed.isOtherNumber) unread.push(`column ${facts.name} is ignored: ${why}`);
    if (type === 'time') time = facts;
    if (!isLabel && !['time', 'ignore'].includes(type)) {
      used += 1;
      if (type !== 'number' || 'quantiles' in settings) categories += 1;
    }
    const comment = `${isLeak ? LEAK : ''}${why}${isLabel ? '' : factsText(facts, typed)}`;
    if (type === 'ignore' && !isOfFields(look.form)) {
      // What a job does not name is not read.
      lines.push(note(2, `${facts.name} is left out: ${comment}`));
      continue;
    }
    const isPlaced = hasNames(look.form) && !facts.hasName;
    const place = { ...(facts.path !== undefined && { path: facts.path }), ...(isPlaced && { position: at + 1 }) };
    const all = { type, ...settings, ...place };
    lines.push(line(2, facts.name, Object.keys(all).length === 1 ? type : all, comment));
  }
  return { lines, unread, used, categories, time };
}

/** `dt=2024-05-01`, a folder of the path: what it says is not in the file. */
const VALUE_FOLDER = /^([^=]+)=/;

/** Columns that the file lacks, and its path has. */
export function folderNotes({ path, columns }: TableLook): string[] {
  const folders = path
    .split('/')
    .slice(0, -1)
    .flatMap((folder) => VALUE_FOLDER.exec(folder)?.[1] ?? []);
  return [...new Set(folders)]
    .filter((name) => columns.every((column) => column.name !== name))
    .map((name) => note(2, `${name} is in the path, and is read with: ${name}: { type: category, from: folder }`));
}

interface Chosen {
  readonly type: string;
  readonly why: string;
  readonly [setting: string]: unknown;
}

const labelColumn = ({ label }: TableLook, { label: settings, why }: ModelChoice): Chosen => ({
  type: 'label',
  ...settings,
  why: `${label?.why}; ${why}`,
});

function chosenColumn(facts: ColumnFacts, typed: TypedColumn, model: ModelChoice, hasTime: boolean): Chosen {
  const { type, why, isSkewed } = typed;
  if (isOfNumbers(model.type) && type !== 'time' && type !== 'ignore') {
    if (!isDense(facts, typed))
      return { type: 'ignore', why: `${why}: ${model.type} takes numbers only, lr and fm take them` };
    return isSkewed ? { type: 'number', normalize: 'log', why } : { type: 'number', why };
  }
  switch (type) {
    case 'number':
      return isSkewed ? { type, quantiles: QUANTILES, why } : { type, why };
    case 'categories':
      return facts.isList || facts.separator === LIST_SEPARATOR
        ? { type, why }
        : { type, separator: facts.separator, why };
    case 'time':
      return timeColumn(facts, typed, hasTime);
    default:
      return { type, why };
  }
}

function timeColumn({ time: format, otherTime }: ColumnFacts, { why, missing }: TypedColumn, hasTime: boolean): Chosen {
  if (hasTime) return { type: 'ignore', why: `${why}; a job has one column of times` };
  if (missing > 0) return { type: 'ignore', why: `${why}; records without one would be bad` };
  const also = otherTime === undefined ? why : `${why}, or is it ${otherTime}?`;
  return format === 'iso' ? { type: 'time', why: also } : { type: 'time', format, why: also };
}

function factsText(facts: ColumnFacts, { type, missing, distinct, why }: TypedColumn): string {
  const { numbers, times, isDistinctExact, records, unreadable } = facts;
  if (unreadable !== undefined) return '';
  const parts = [
    ...(type === 'number' && numbers !== undefined ? [`${short(numbers.min)} to ${short(numbers.max)}`] : []),
    ...(type === 'time' && times !== undefined ? [`${dayText(times.min)} to ${dayText(times.max)}`] : []),
    ...(type === 'time' || why.includes('different')
      ? []
      : [`${isDistinctExact ? '' : 'about '}${distinct} different`]),
    ...(missing === 0 ? [] : [`${percent(missing / records)} missing`]),
  ];
  return parts.length === 0 ? '' : `; ${parts.join(', ')}`;
}

/** Test records out of the training file: the latest fifth if there are times, else one in five. */
export function splitLine(time: ColumnFacts | undefined, isWhole: boolean): string {
  const { min, late } = time?.times ?? { min: 0, late: 0 };
  // Where only the first records were looked at, later times may follow.
  if (late <= min || !isWhole) {
    return line(
      1,
      'split',
      { test: TEST_SHARE },
      'one record in five is a test record; or name test files with data.test',
    );
  }
  return line(
    1,
    'split',
    { from: dayText(late) },
    'the last fifth of the records are test records, as predictions come later',
  );
}
