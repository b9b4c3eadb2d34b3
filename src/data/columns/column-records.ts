/** Builds the records of a task from pieces of columns, with the inputs that the model reads. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { sparseKernel } from '../kernels/sparse-kernel.ts';
import { BlockBuilder } from '../parsed/block-builder.ts';
import { type TaskSink, type TaskSize, taskSink } from '../parsed/task-records.ts';
import type { ReadFeatures } from '../piece.ts';
import type { PieceFeatures } from './features.ts';
import { makersOf, type UsedColumns } from './inputs.ts';
import type { ColumnPiece } from './piece.ts';

export function columnRecords(columns: UsedColumns, { records, bytes, batchSize }: TaskSize): TaskSink<ColumnPiece> {
  const { features, hasFields, rows, perRecord, groupsOf } = makersOf(columns);
  if (records * perRecord > LIMITS.taskInputs) {
    throw new PaddletError(
      'DataInvalid',
      `a task has too many inputs: ${records} records of up to ${perRecord} inputs`,
      {
        hint: `lower data.recordsPerTask: a task can have at most ${LIMITS.taskInputs} inputs`,
      },
    );
  }
  // An id of a list takes two bytes of text, with what separates it from the next one.
  const most = features.map((maker) => maker.mostFeatures(records, Math.ceil(bytes / 2) + records));
  const size = { records, features: most, batchSize, hasFields, width: rows?.width };
  const builder = new BlockBuilder(size, sparseKernel());
  return taskSink(builder, (piece, firstLine) => {
    const inputs = features.map((maker) => readFeatures(maker.featuresOf(piece, hasFields)));
    const groups = groupsOf?.(piece) ?? piece.groups;
    builder.add({ ...piece, groups }, firstLine, inputs, rows?.rowsOf(piece));
  });
}

const readFeatures = ({ count, ends, ids, values, fields }: PieceFeatures): ReadFeatures => ({
  features: count,
  ends,
  ids: bytesOf(ids),
  values,
  fields,
});

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
