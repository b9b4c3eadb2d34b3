/**
 * How made records are written: as features by number, or as the columns of a click log, with a job that reads it.
 * Columns have the names that the descriptions of Criteo's logs give them.
 */
import { mix32 } from '../../base/mix32.ts';
import { firstSettings } from '../first-settings.ts';
import type { PlantedOptions, PlantedRecord } from './planted-model.ts';

export const SYNTH_FORMATS = ['libsvm', 'libffm', 'csv', 'tsv', 'jsonl'] as const;
export type SynthFormat = (typeof SYNTH_FORMATS)[number];

export interface RecordText {
  /** The first line; empty if there is none. */
  readonly head: string;
  /** The line of a record, with its line break. */
  readonly line: (record: PlantedRecord) => string;
}

type Written = PlantedOptions & { readonly format: SynthFormat };

const LABEL = 'label';

/** `I1`, `I2`, … are whole numbers, `C1`, `C2`, … categories. */
const namesOf = ({ perRecord, numbers }: PlantedOptions): string[] =>
  Array.from({ length: perRecord }, (_, field) => (field < numbers ? `I${field + 1}` : `C${field - numbers + 1}`));

export function textOf(options: Written): RecordText {
  const { format, features, perRecord, numbers } = options;
  if (format === 'libsvm') return { head: '', line: ({ label, ids }) => `${label} ${ids.join(':1 ')}:1\n` };
  if (format === 'libffm') {
    const features = (ids: Uint32Array): string => Array.from(ids, (id, field) => `${field}:${id}:1`).join(' ');
    return { head: '', line: ({ label, ids }) => `${label} ${features(ids)}\n` };
  }
  const vocabulary = Math.floor(features / perRecord);
  const fieldOf = (id: number, field: number): string => {
    if (id === 0) return '';
    const value = id - 1 - field * vocabulary;
    if (field < numbers) return String(value);
    // The most frequent value of a category is that it is missing, as in logs.
    return value === 0 ? '' : mix32(id).toString(16).padStart(8, '0');
  };
  if (format === 'jsonl') {
    const names = namesOf(options);
    const pair = (text: string, field: number): string =>
      text === '' ? '' : `,"${names[field]}":${field < numbers ? text : `"${text}"`}`;
    const pairs = (ids: Uint32Array): string =>
      Array.from(ids, (id, field) => pair(fieldOf(id, field), field)).join('');
    return { head: '', line: ({ label, ids }) => `{"${LABEL}":${label}${pairs(ids)}}\n` };
  }
  const delimiter = format === 'csv' ? ',' : '\t';
  return {
    head: `${[LABEL, ...namesOf(options)].join(delimiter)}\n`,
    line: ({ label, ids }) => `${[label, ...Array.from(ids, fieldOf)].join(delimiter)}\n`,
  };
}

/** A job file; undefined for formats whose job says nothing of columns. */
export function jobOf(options: Written & { readonly records: number }): string | undefined {
  const { format, factors, records } = options;
  if (format === 'libsvm' || format === 'libffm') return undefined;
  const columns = namesOf(options).map((name) =>
    name.startsWith('I') ? `    ${name}: { type: number, normalize: log }` : `    ${name}: category`,
  );
  const model = factors === 0 ? '{ type: lr }' : `{ type: fm, factors: ${factors} }`;
  const type = factors === 0 ? 'lr' : 'fm';
  const { passes, batchSize, ...adagrad } = firstSettings(type, { records, meanSum: meanSumOf(options) });
  return `# Made by paddlet data synth: the files are in the folder of this job.
name: synth-log
data:
  format: ${format}
  train: train.${format}
  test: test.${format}
  columns:
    ${LABEL}: label
${columns.join('\n')}
model: ${model}
optimizer: { type: adagrad, learningRate: ${adagrad.learningRate}, initialAccumulator: ${adagrad.initialAccumulator} }
training: { passes: ${passes}, batchSize: ${batchSize} }
cluster: { pservers: 2, trainers: 2 }
`;
}

/**
 * The mean sum of the absolute values of a record's features. A number counts by its logarithm, on average about half
 * that of the highest number.
 */
const meanSumOf = ({ features, perRecord, numbers, missing }: PlantedOptions): number =>
  perRecord - numbers + (1 - missing) * numbers * (Math.log1p(features / perRecord) / 2);
