/** Records of some classes count more, or less, than others in training (`training.classWeights`). */
import type { Batch } from '../model/model.ts';
import { weightOf } from './selection.ts';
import type { TaskRecords } from './source.ts';

/** By the class, as models see it; those that are not named have weight 1. */
export type ClassWeights = Readonly<Record<string, number>>;

/** The same records, each with its weight times that of its class. */
export function weightedByClass(records: TaskRecords, classWeights: ClassWeights | undefined): TaskRecords {
  if (classWeights === undefined) return records;
  const weighted = (batch: Batch): Batch => ({ ...batch, weights: weightsOf(batch, classWeights) });
  return {
    ...records,
    batch: (from, to) => weighted(records.batch(from, to)),
    pick: (positions) => weighted(records.pick(positions)),
  };
}

const weightsOf = ({ labels, weights }: Batch, classWeights: ClassWeights): Float32Array =>
  labels.map((label, record) => weightOf(weights?.[record] ?? 1, classWeights[label] ?? 1));
