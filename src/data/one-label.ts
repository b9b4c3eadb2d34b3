/** Records that all have the same label: a model learns nothing from them, and its metrics look perfect. */
import { PaddletError } from '../base/errors.ts';
import { quote } from './ascii.ts';
import type { Column, LabelColumn } from './columns/column.ts';
import { type FirstRecords, firstLabelTexts } from './first-records.ts';
import type { LabelRule } from './labels.ts';
import type { Oddity, Traits } from './oddities.ts';
import type { DataPlace } from './place.ts';

const SHOWN_TEXTS = 8;

export interface LabelledRecords {
  /** For messages: `training`, `test`. */
  readonly set: string;
  /** All of the records, good and bad; `isFirst`: of those that were looked at. */
  readonly records: number;
  readonly isFirst?: boolean;
  readonly traits: Readonly<Traits>;
  readonly task: LabelRule['task'];
  readonly columns?: readonly Column[] | undefined;
}

/** The label that all records have; undefined when they have several, or none, or the job says that it is 1. */
function onlyLabel({ traits, task, columns }: LabelledRecords): number | undefined {
  // What the job says of all records, it means: `odditiesOf` warns of it.
  if (labelIn(columns)?.value !== undefined) return undefined;
  const { hasZero, hasOne, hasMinusOne, lowest, highest } = traits;
  if (task !== 'binary') return lowest === highest ? lowest : undefined;
  const hasNegative = hasZero || hasMinusOne;
  return hasNegative === hasOne ? undefined : Number(hasOne);
}

const labelIn = (columns: readonly Column[] | undefined): LabelColumn | undefined =>
  columns?.find((column) => column.type === 'label');

const hasTexts = ({ positive, negative, classes }: LabelColumn): boolean =>
  (positive ?? negative ?? classes) !== undefined;

function messageOf({ set, records, isFirst }: LabelledRecords, label: number): string {
  const count = records.toLocaleString('en-US');
  return isFirst === true
    ? `the first ${count} ${set} records all have label ${label}`
    : `all ${count} ${set} records have label ${label}`;
}

/** A warning, if training or scoring continues anyway. */
export function oneLabelOddity(records: LabelledRecords): Oddity | undefined {
  const label = onlyLabel(records);
  return label === undefined
    ? undefined
    : { message: messageOf(records, label), hint: hintFor(records, label, labelIn(records.columns)) };
}

type Labelled = Pick<FirstRecords, 'what' | 'format' | 'columns'>;

/** The same with the texts of the labels. */
export async function oneLabelWithTexts(
  place: DataPlace,
  records: LabelledRecords,
  source: Labelled,
): Promise<Oddity | undefined> {
  const odd = oneLabelOddity(records);
  const column = labelIn(records.columns);
  if (odd === undefined || column === undefined || !hasTexts(column)) return odd;
  const texts = await textsOf(place, source);
  return texts === ''
    ? odd
    : { ...odd, message: `${odd.message}; the first records have these values in column ${column.name}: ${texts}` };
}

/** Throws `DataInvalid` if a classifier would be trained on one class; the message has the texts of the labels. */
export async function refuseOneLabel(place: DataPlace, records: LabelledRecords, source: Labelled): Promise<void> {
  const odd = records.task === 'regression' ? undefined : await oneLabelWithTexts(place, records, source);
  if (odd !== undefined) throw new PaddletError('DataInvalid', odd.message, { hint: odd.hint });
}

/** `"no" (12), "Yes" (3)`: those of the first records, with their counts. */
async function textsOf(place: DataPlace, source: Labelled): Promise<string> {
  const texts = await firstLabelTexts(place, source);
  const shown = texts.slice(0, SHOWN_TEXTS).map(({ text, count }) => {
    const bytes = Buffer.from(text);
    return `${quote(bytes, 0, bytes.length)} (${count.toLocaleString('en-US')})`;
  });
  const more = texts.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function hintFor({ set, task }: LabelledRecords, label: number, column: LabelColumn | undefined): string {
  const field = `data.columns.${column?.name}`;
  if (column?.positive !== undefined) {
    return label === 1
      ? `remove the texts that count as 0 from ${field}.positive`
      : `list in ${field}.positive the texts that count as 1, written as in the files`;
  }
  const others = task === 'binary' ? `label ${label === 1 ? 0 : 1}` : 'other labels';
  const texts = column?.classes === undefined ? '' : `, or compare ${field}.classes with the files`;
  return `add ${set} records with ${others}${texts}; data.split and data.negativeSampling may have left them out`;
}
