/** Where a plan for lines of text is in the memory of the kernel, and the columns that are read by it. */
import { LIMITS } from '../../../base/limits.ts';
import { roundUp } from '../../kernels/instance.ts';
import type { LabelTexts, LinePlan } from './plan.ts';

/** Size of `Field` in `assembly/frame.ts`. */
export const FIELD_BYTES = 56;
/** Size of `LabelText`, in u32. */
export const LABEL_TEXT_WORDS = 6;
/** Size of `Key`, in u32. */
export const KEY_WORDS = 8;
/** Room for all columns together. */
const COLUMN_BYTES = 32 * 1024 * 1024;
/** Bytes of label, weight, group, line, start and end of a record. */
const RECORD_BYTES = 28;
/** Between columns: without it, the values of a record would all compete for the same lines of a cache. */
const GAP_BYTES = 64;

/** Where the columns are. */
export interface PlanPlaces {
  /** Room for this number of records. */
  readonly most: number;
  readonly labels: number;
  readonly weights: number;
  readonly groups: number;
  readonly lines: number;
  readonly starts: number;
  readonly ends: number;
  readonly numbers: readonly number[];
  readonly single: readonly number[];
  readonly lists: readonly { readonly starts: number; readonly ends: number }[];
  readonly fields: number;
  readonly missing: number;
  readonly missingBytes: number;
  readonly labelTexts: number;
  /** Places of the table of labels, a power of two. */
  readonly labelPlaces: number;
  readonly labelBytes: number;
  /** The whole record, then those of the form; where they are by their hash; their texts. */
  readonly keys: number;
  readonly keyTable: number;
  /** A power of two. */
  readonly keyPlaces: number;
  readonly keyTexts: number;
  readonly texts: readonly { readonly starts: number; readonly ends: number }[];
  /** The bytes of texts that no field has; behind them is what is read. */
  readonly textBytes: number;
  /** End of all the places. */
  readonly end: number;
}

/** Those that the kernel knows: none where the plain form numbers them. */
export const textsOf = (plan: LinePlan): LabelTexts | undefined =>
  plan.labels.numberOf === undefined ? plan.targets.find((target) => target?.kind === 'label')?.texts : undefined;

/** With their labels: NaN leaves a record to the plain form. */
export const labelledTexts = (texts: LabelTexts | undefined): (readonly [latin1: string, label: number])[] => [
  ...(texts?.labels ?? []),
  ...(texts?.name === undefined ? [] : [[texts.name, Number.NaN] as const]),
];

/** Maximum bytes of texts that no field has. */
const constantTextBytes = ({ constants }: LinePlan): number =>
  constants.reduce((sum, { target, text }) => sum + (target.kind === 'text' ? Buffer.byteLength(text) : 0), 0);

/** Size of a table that has at least as many free places as entries, so that a search ends soon. */
function tableSize(entries: number): number {
  let places = 1;
  while (places < 2 * entries) places *= 2;
  return places;
}

export function placesOf(plan: LinePlan, from: number): PlanPlaces {
  const { numbers, single, lists, texts: spans } = plan.slots;
  const recordBytes = RECORD_BYTES + 4 * numbers.length + 8 * (single.length + lists.length + spans.length);
  const most = Math.max(1, Math.min(LIMITS.pieceRecords, Math.floor(COLUMN_BYTES / recordBytes)));
  const texts = labelledTexts(textsOf(plan));
  const { keys } = plan.form;
  const labelPlaces = tableSize(texts.length);
  const keyPlaces = tableSize(keys.length);
  let end = from;
  const room = (bytes: number): number => {
    const at = end;
    end = roundUp(at + bytes);
    return at;
  };
  const column = (bytes: number): number => room(bytes * most + GAP_BYTES);
  return {
    most,
    labels: column(4),
    weights: column(4),
    groups: column(8),
    lines: column(4),
    starts: column(4),
    ends: column(4),
    numbers: numbers.map(() => column(4)),
    single: single.map(() => column(8)),
    lists: lists.map(() => ({ starts: column(4), ends: column(4) })),
    fields: room(FIELD_BYTES * plan.fields),
    missing: room(8 * plan.missing.length),
    missingBytes: room(plan.missing.reduce((bytes, { length }) => bytes + length, 0)),
    labelTexts: room(4 * LABEL_TEXT_WORDS * labelPlaces),
    labelPlaces,
    labelBytes: room(texts.reduce((bytes, [{ length }]) => bytes + length, 0)),
    keys: room(4 * KEY_WORDS * (keys.length + 1)),
    keyTable: room(4 * keyPlaces),
    keyPlaces,
    keyTexts: room(keys.reduce((bytes, { text }) => bytes + text.length, 0)),
    texts: spans.map(() => ({ starts: column(4), ends: column(4) })),
    textBytes: room(constantTextBytes(plan)),
    end,
  };
}
