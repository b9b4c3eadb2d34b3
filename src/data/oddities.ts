/**
 * What is valid, but probably unintended: reported as warnings, by the index and by an inspection of the first records.
 */
import { COMPARE_KEYS, namesOf } from './absent-columns.ts';
import type { Content } from './bytes/content.ts';
import type { Column } from './columns/column.ts';
import type { SeenColumns } from './columns/seen.ts';
import type { NumberStatistics } from './columns/statistics.ts';

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

/** Notes which columns have values, from the files that have records. */
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
  const { lowest = Number.POSITIVE_INFINITY, highest = Number.NEGATIVE_INFINITY } = traits;
  if (label < Math.fround(lowest)) traits.lowest = asWritten(label);
  if (label > Math.fround(highest)) traits.highest = asWritten(label);
}

/** Files that a model is trained and tested on. */
export function sharedOddities(trained: readonly string[], tested: readonly string[]): Oddity[] {
  const [path, ...more] = trained.filter((file) => tested.includes(file));
  if (path === undefined) return [];
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return [
    {
      message: `${path}${others} is both a training and a test file: the test metrics count records that the model was trained on`,
      hint: 'use other files for data.test, or hold out records with data.split',
    },
  ];
}

/** Deviations from the mean have at least this many steps between floats: rounding changes them by half a percent. */
const LEAST_STEPS = 64;
const FLOAT_BITS = 23;

/** Columns whose numbers are so large and close together that 32-bit floats barely distinguish them. */
export function coarseOddities(statistics: readonly NumberStatistics[] = []): Oddity[] {
  return statistics.flatMap(({ name, min, max, deviation }) => {
    const step = 2 ** (Math.floor(Math.log2(Math.max(-min, max))) - FLOAT_BITS);
    if (min === max || !(deviation < LEAST_STEPS * step)) return [];
    return {
      message: `column ${name} contains numbers from ${min} to ${max}, a range in which 32-bit floats are ${step} apart`,
      hint: `subtract about ${min} from the numbers in the files; otherwise the model sees rounded numbers`,
    };
  });
}

/** Oddities in all files of a job. The task of the model and the columns are given if a job is known. */
export function odditiesOf(
  all: readonly Traits[],
  { task, columns = [] }: { readonly task?: string; readonly columns?: readonly Column[] | undefined } = {},
): Oddity[] {
  const has = (trait: 'hasZero' | 'hasMinusOne' | 'hasOther'): boolean => all.some((traits) => traits[trait]);
  const odd: Oddity[] = all.flatMap(({ skippedChunks, withoutFeatures, absentColumns, absentIn }) => [
    ...skippedChunks.map(({ path, chunks, records }) => ({
      message: `paddlet skips ${chunks} corrupt ${chunks === 1 ? 'chunk' : 'chunks'} of ${path} (records: ${records})`,
      hint: 'list the chunks with `paddlet data recordio list`; to fail instead, set data.corruptChunks: fail',
    })),
    ...withoutFeatures.map((file) => ({
      message: `no record of ${file} has a feature`,
      hint: 'leave the file out of the data: weight and group files of XGBoost look like this',
    })),
    ...(absentColumns.length === 0
      ? []
      : [{ message: `no record has a value for ${namesOf(absentColumns)}`, hint: COMPARE_KEYS }]),
    ...absentIn.map(({ path, columns: absent }) => ({
      message: `no record of ${path} has a value for ${namesOf(absent)}, but other files do`,
      hint: COMPARE_KEYS,
    })),
  ]);
  if (has('hasZero') && has('hasMinusOne') && (task === undefined ? !has('hasOther') : task === 'binary')) {
    odd.push({
      message: 'the data contains both the label 0 and the label -1: a binary model treats both as negative',
      hint: 'if 0 means unlabeled or another class, remove these records, or correct their labels',
    });
  }
  if (columns.some((column) => column.type === 'label' && column.value !== undefined)) {
    odd.push({
      message: 'all records have label 1: the model learns that every record is positive',
      hint: 'add negative records, and a column of type label, such as a rating',
    });
  }
  return odd;
}

/** The shortest decimal that rounds to this 32-bit float, such as 0.1. */
function asWritten(label: number): number {
  for (let digits = 6; digits <= 9; digits++) {
    const shorter = Number(label.toPrecision(digits));
    if (Math.fround(shorter) === label) return shorter;
  }
  return label;
}
