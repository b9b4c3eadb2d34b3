/** What can be trained on and is hardly meant: told as warnings, by the index as well as by a look at first records. */
import { COMPARE_KEYS, namesOf } from './absent-columns.ts';
import type { Column } from './columns/column.ts';
import type { SeenColumns } from './columns/seen.ts';
import type { Content } from './content.ts';

/** What the records of some files have in common. */
export interface Traits {
  /** Files without their corrupt chunks, and what these are. */
  readonly skippedChunks: { readonly path: string; readonly chunks: number; readonly records: number }[];
  /** Files with records, but without any feature. */
  readonly withoutFeatures: string[];
  /** Columns that make features: those without a value in any record, and those with a value in every one. */
  readonly absentColumns: string[];
  readonly completeColumns: string[];
  /** Files in which no record has a value of a column that other files have; the first of them. */
  readonly absentIn: { readonly path: string; readonly columns: string[] }[];
  /** Whether a label is 0, 1, -1, or none of these. */
  hasZero: boolean;
  hasOne: boolean;
  hasMinusOne: boolean;
  hasOther: boolean;
  /** Smallest and largest label; absent where no record has one. */
  lowest?: number;
  highest?: number;
}

export interface Oddity {
  readonly message: string;
  readonly hint: string;
}

export const noTraits = (): Traits => ({
  skippedChunks: [],
  withoutFeatures: [],
  absentColumns: [],
  completeColumns: [],
  absentIn: [],
  hasZero: false,
  hasOne: false,
  hasMinusOne: false,
  hasOther: false,
});

export function noteSkipped({ skippedChunks }: Traits, { path, skipped }: Content): void {
  if (skipped !== undefined) skippedChunks.push({ path, ...skipped });
}

const MOST_FILES = 20;

/** Of files that have records. */
export function noteColumns(
  { absentColumns, completeColumns, absentIn }: Traits,
  files: readonly { readonly path: string; readonly seen: Pick<SeenColumns, 'unseen' | 'complete'> }[],
): void {
  const [first, ...others] = files;
  if (first === undefined) return;
  absentColumns.push(...first.seen.unseen.filter((name) => others.every(({ seen }) => seen.unseen.includes(name))));
  completeColumns.push(
    ...first.seen.complete.filter((name) => others.every(({ seen }) => seen.complete.includes(name))),
  );
  for (const { path, seen } of files) {
    const columns = seen.unseen.filter((name) => !absentColumns.includes(name));
    if (columns.length > 0 && absentIn.length < MOST_FILES) absentIn.push({ path, columns });
  }
}

export function noteLabel(traits: Traits, label: number): void {
  if (Number.isNaN(label)) return;
  if (label === 0) traits.hasZero = true;
  else if (label === 1) traits.hasOne = true;
  else if (label === -1) traits.hasMinusOne = true;
  else traits.hasOther = true;
  if (traits.lowest === undefined || label < traits.lowest) traits.lowest = label;
  if (traits.highest === undefined || label > traits.highest) traits.highest = label;
}

/** Of all files of a job. What the model predicts, and the columns, if a job is known. */
export function odditiesOf(
  all: readonly Traits[],
  { task, columns = [] }: { readonly task?: string; readonly columns?: readonly Column[] | undefined } = {},
): Oddity[] {
  const has = (trait: 'hasZero' | 'hasMinusOne' | 'hasOther'): boolean => all.some((traits) => traits[trait]);
  const odd: Oddity[] = all.flatMap(({ skippedChunks, withoutFeatures, absentColumns, absentIn }) => [
    ...skippedChunks.map(({ path, chunks, records }) => ({
      message: `${path} is read without ${chunks} corrupt ${chunks === 1 ? 'chunk' : 'chunks'} (records: ${records})`,
      hint: 'paddlet data recordio list shows which; data.corruptChunks: fail refuses them',
    })),
    ...withoutFeatures.map((file) => ({
      message: `no record of ${file} has a feature`,
      hint: 'weights and groups of XGBoost are such files: leave it out of the data, or remove it from the folder',
    })),
    ...(absentColumns.length === 0
      ? []
      : [{ message: `no record has a value of ${namesOf(absentColumns)}`, hint: COMPARE_KEYS }]),
    ...absentIn.map(({ path, columns: absent }) => ({
      message: `no record of ${path} has a value of ${namesOf(absent)}, which other files have`,
      hint: COMPARE_KEYS,
    })),
  ]);
  if (has('hasZero') && has('hasMinusOne') && (task === undefined ? !has('hasOther') : task === 'binary')) {
    odd.push({
      message: 'there are labels 0 and labels -1: a binary model takes both as negative',
      hint: 'where 0 means unlabeled, or another class, remove these records, or write them as what they are',
    });
  }
  if (columns.some((column) => column.type === 'label' && column.value !== undefined)) {
    odd.push({
      message: 'all records have label 1: a model learns that each is positive',
      hint: 'add records that are not, and a column of type label, such as a rating',
    });
  }
  return odd;
}
