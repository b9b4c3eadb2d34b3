/** What a look at data has found, for people. */
import { LIMITS } from '../../base/limits.ts';
import { notWritable } from '../../data/appearance.ts';
import type { ColumnFacts, FrequentText } from '../../data/inspection/column-profile.ts';
import type { TableComparison } from '../../data/inspection/compare.ts';
import type { DenseLook } from '../../data/inspection/dense.ts';
import type { NumberFacts } from '../../data/inspection/histogram.ts';
import { labelColumns } from '../../data/inspection/label.ts';
import type { SparseLook } from '../../data/inspection/sparse.ts';
import type { TableLook } from '../../data/inspection/table.ts';
import { isOfFields, type TableForm } from '../../data/inspection/table-source.ts';
import { typeOf } from '../../data/inspection/types.ts';
import { isoTime } from '../../host/clock.ts';
import type { MakeTable, TableColumn } from '../base/table.ts';

export interface Screen {
  readonly table: MakeTable;
  /** Columns of the terminal. */
  readonly width: number;
}

const BARS = '▁▂▃▄▅▆▇█';
const BINS = 16;
const NAME_CHARACTERS = 24;
/** However narrow the terminal is. */
const LEAST_CELL = 16;
/** Width from which a screen has room for bars. */
const LEAST_WIDTH = 64;
const GAP = 2;
const SHOWN = 10;

export const right = (...heads: string[]): TableColumn[] => heads.map((head) => ({ head, align: 'right' }));
export const left = (...heads: string[]): TableColumn[] => heads.map((head) => ({ head }));

export const short = (number: number): string => String(Number(number.toPrecision(5)));
export const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;
export const countText = (count: number, isExact: boolean): string => `${isExact ? '' : '~'}${count}`;

export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** A bar for each part; one that has anything is at least as high as the lowest. */
export function barsOf(counts: readonly number[]): string {
  const most = Math.max(...counts);
  return counts
    .map((count) => (count === 0 ? ' ' : (BARS[Math.ceil((BARS.length * count) / most) - 1] ?? ' ')))
    .join('')
    .trimEnd();
}

/** Range and mean, behind the bars where there is room for both. */
export function numbersText(numbers: NumberFacts, { width }: Screen): string {
  const range = `${short(numbers.min)} to ${short(numbers.max)}, mean ${short(numbers.mean)}`;
  return width < LEAST_WIDTH ? range : `${barsOf(numbers.histogram).padEnd(BINS)} ${range}`;
}

/** A table whose last column has what is left of the width. */
export function fitted(
  { table, width }: Screen,
  columns: readonly TableColumn[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const shown = rows.map(([name = '', ...cells]) => [cut(String(name), NAME_CHARACTERS), ...cells]);
  const widths = columns.map(({ head }, at) => Math.max(head.length, ...shown.map((row) => String(row[at]).length)));
  const used = widths.slice(0, -1).reduce((sum, cells) => sum + cells + GAP, 0);
  const room = Math.max(LEAST_CELL, width - used);
  return table(
    columns,
    shown.map((row) => [...row.slice(0, -1), cut(String(row.at(-1)), room)]),
  );
}

export function tableText(look: TableLook, screen: Screen): string {
  const { path, form, columns, records, isWhole } = look;
  const typed = columns.map((facts, at) => ({ facts, typed: typeOf(facts), isLabel: at === look.label?.column }));
  const hasTypes = !isOfFields(form);
  const rows = typed.map(({ facts, typed: { type, missing, distinct, top }, isLabel }) => [
    facts.name,
    ...(hasTypes ? [facts.stored ?? ''] : []),
    isLabel ? 'label' : facts.unreadable === undefined ? type : 'unreadable',
    missing === 0 ? '' : percent(missing / Math.max(1, records)),
    facts.unreadable === undefined ? countText(distinct, facts.isDistinctExact) : '',
    valuesText(facts, type, top, screen),
  ]);
  const seen = isWhole ? `${records} records` : `the first ${records} records`;
  const head = `${path}: ${seen}, ${columns.length} columns; ${formText(form)}`;
  const heads = [...left('column', ...(hasTypes ? ['stored as'] : []), 'type'), ...right('missing', 'distinct')];
  const body = fitted(screen, [...heads, ...left('values')], rows);
  return [head, body, notesOf(look).join('\n')].filter((text) => text !== '').join('\n\n');
}

const SEPARATORS: Readonly<Record<string, string>> = {
  ',': 'commas',
  '\t': 'tabs',
  ';': 'semicolons',
  '|': 'bars',
  ' ': 'blanks',
  '::': 'two colons',
};

function formText(form: TableForm): string {
  if (form.format === 'jsonl') return 'JSON lines';
  if (form.format === 'parquet') {
    return `Parquet, ${form.rowGroups} row group${form.rowGroups === 1 ? '' : 's'}`;
  }
  const { format, delimiter, quote, comment, header, decimal } = form;
  const isPlain = quote === '"' || format === 'interactions';
  return [
    `${format === 'interactions' ? 'interactions ' : ''}separated by ${SEPARATORS[delimiter] ?? delimiter}`,
    header ? 'with a header' : 'without a header',
    ...(isPlain ? [] : [quote === null ? 'quotes are ordinary characters' : `quotes are ${quote}`]),
    ...(comment === undefined ? [] : [`comments begin with ${comment}`]),
    ...(decimal === '.' ? [] : ['decimal commas']),
  ].join(', ');
}

function valuesText(
  { numbers, times, records }: ColumnFacts,
  type: string,
  top: readonly FrequentText[],
  screen: Screen,
): string {
  if (type === 'number' && numbers !== undefined) return numbersText(numbers, screen);
  if (type === 'time' && times !== undefined) return `${dayText(times.min)} to ${dayText(times.max)}`;
  return top
    .slice(0, SHOWN)
    .map(({ text, count }) => `${text} ${percent(count / records)}`)
    .join(', ');
}

/** A time as text of format iso, in UTC. */
export const dayText = (ms: number): string => isoTime(ms / 1000).replace('T00:00:00.000Z', '');

export const badText = ({ records, first }: TableLook['bad']): string => {
  const shown = first.map(({ line, reason }) => `line ${line}: ${reason}`);
  return `${records} bad record${records === 1 ? '' : 's'}: ${shown.join('; ')}${records > first.length ? '; …' : ''}`;
};

export const strayText = (stray: TableLook['strayLabels'], name: string): string =>
  `${name} is ${stray.map(({ text, count }) => `${JSON.stringify(text)} in ${count} record${count === 1 ? '' : 's'}`).join(', ')}`;

function notesOf({ columns, label, leaks, bad, strayLabels, path, form, unlisted }: TableLook): string[] {
  const typed = columns.map((facts) => ({ facts, ...typeOf(facts) }));
  const missing = [...new Set(typed.flatMap(({ missingTexts }) => missingTexts.map(({ text }) => text)))];
  const quoted = missing.map((text) => JSON.stringify(text)).join(', ');
  const isWithout = label === undefined && labelColumns(columns).length === 0;
  const labelled = label === undefined ? undefined : columns[label.column];
  const notUtf8 = notWritable(columns.flatMap(({ name, top }) => [name, ...top.map(({ text }) => text)]));
  return [
    ...(labelled === undefined
      ? [
          isWithout
            ? 'The job does not have a label: every record is a positive example (label 1).'
            : 'No column looks like the label: choose one with --label.',
        ]
      : [`The label seems to be ${labelled.name}: ${label?.why}.`]),
    ...leaks.map((name) => `${name} nearly equals the label: it may be known only afterwards.`),
    ...(missing.length === 0 ? [] : [`No value: ${quoted}, and the empty text.`]),
    ...typed
      .filter(
        ({ type, facts }) =>
          facts !== labelled &&
          facts.isId !== true &&
          (type === 'ignore' || type === 'categories' || (type === 'category' && facts.textRecords === 0)),
      )
      .map(({ facts: { name, unreadable }, type, why }) =>
        unreadable === undefined ? `${name} as ${type}: ${why}.` : `${name} cannot be read: ${unreadable}.`,
      ),
    ...typed.flatMap(({ type, facts: { name, time, otherTime } }) =>
      type === 'time' && otherTime !== undefined ? [`${name} is read as ${time}; it could be ${otherTime}.`] : [],
    ),
    ...(labelled === undefined || strayLabels.length === 0
      ? []
      : [`${strayText(strayLabels, labelled.name)}: too rare for a class, so bad.`]),
    ...(bad.records === 0 ? [] : [`${badText(bad)}.`]),
    ...(notUtf8 === undefined || !isOfFields(form) ? [] : [`It is ${notUtf8.what}: ${notUtf8.hint}.`]),
    ...(unlisted.length === 0
      ? []
      : [
          form.format === 'interactions'
            ? `Not shown: ${unlisted.join(', ')}: further fields, which not all records have.`
            : `Not shown: ${unlisted.join(', ')}: the first records lack them, or there are more than ${LIMITS.columns} columns.`,
        ]),
    ...(isWithout
      ? ['`paddlet docs data` says what else a model needs to learn from.']
      : [`\`paddlet init --data ${path}${labelled === undefined ? ' --label NAME' : ''}\` writes a job file for it.`]),
  ];
}

export function comparisonText(comparison: TableComparison, first: string, second: string, screen: Screen): string {
  const { columns, compared, onlyFirst, onlySecond } = comparison;
  const rows = columns.map(({ name, newValues, ranges, missing }) => {
    const parts = [
      ...(ranges === undefined
        ? []
        : [`${rangeText(ranges.second, ranges.of)}, not within ${rangeText(ranges.first, ranges.of)}`]),
      ...(newValues === undefined
        ? []
        : [`${percent(newValues.records / newValues.known)} of its records: ${newValues.examples.join(', ')}`]),
      ...(missing === 0 ? [] : [`${missing} without a value`]),
    ];
    return [name, parts.join('; ')];
  });
  const lines = [
    ...onlyFirst.map((name) => `${name} is only in ${first}.`),
    ...onlySecond.map((name) => `${name} is only in ${second}.`),
  ];
  const head = `What ${second} has and ${first} lacks: in ${columns.length} of ${compared} columns`;
  const body = columns.length === 0 ? '' : fitted(screen, left('column', 'new'), rows);
  return [head, body, lines.join('\n')].filter((text) => text !== '').join('\n\n');
}

const rangeText = (range: readonly number[], of: 'number' | 'time'): string =>
  range.map(of === 'number' ? short : dayText).join(' to ');

export function sparseText(look: SparseLook, screen: Screen): string {
  const { path, records, isWhole, labels, distinctLabels, perRecord, values, bad } = look;
  const facts: string[][] = [
    ['labels', labels.map(({ label, count }) => `${short(label)} ${percent(count / Math.max(1, records))}`).join(', ')],
    ['different labels', String(distinctLabels)],
    ['features of a record', perRecord === undefined ? '' : numbersText(perRecord, screen)],
    ['values', values === undefined ? '' : numbersText(values, screen)],
    ['different ids', countText(look.ids, look.areIdsExact)],
    ['highest id', look.highestId ?? '-'],
    ...(look.fields === undefined ? [] : [['fields', String(look.fields)]]),
    ['density', look.density === 0 ? '-' : percent(look.density)],
    ['weights', look.hasWeights ? 'labels have weights' : 'none'],
    ['groups', look.hasGroups ? 'qid' : 'none'],
  ];
  const notes = [
    ...(look.newIds === undefined || look.newIds.features === 0
      ? []
      : [`${percent(look.newIds.features / look.newIds.known)} of its features have ids that the first file lacks.`]),
    ...(bad.records === 0 ? [] : [`${bad.records} records are bad:`]),
    ...bad.first.map(({ line, reason }) => `  line ${line}: ${reason}`),
  ];
  const head = `${path}: ${isWhole ? '' : 'the first '}${records} records of ${look.fields === undefined ? 'libsvm' : 'libffm'}`;
  return [head, fitted(screen, left('what', 'it has'), facts), notes.join('\n')]
    .filter((text) => text !== '')
    .join('\n\n');
}

export function denseText({ path, labelsPath, records, inputs, classes }: DenseLook, screen: Screen): string {
  const rows = classes.map((count, label) => [label, count, percent(count / Math.max(1, records))]);
  const head = `${path}: ${records} records of idx, ${inputs} inputs each; labels in ${labelsPath}`;
  return `${head}\n\n${screen.table(right('class', 'records', 'share'), rows)}`;
}
