/** What takes pieces of columns and makes the records of a task of them, as the model wants them. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { sparseKernel } from '../kernels/sparse-kernel.ts';
import type { ParsedBlock } from '../parsed/block.ts';
import { BlockBuilder } from '../parsed/block-builder.ts';
import { blockRecords } from '../parsed/block-records.ts';
import type { ReadFeatures, TaskSink } from '../piece.ts';
import type { TaskRecords } from '../source.ts';
import type { PieceFeatures } from './features.ts';
import { makersOf, type UsedColumns } from './inputs.ts';
import type { ColumnPiece } from './piece.ts';

export interface ColumnRecords extends TaskSink<ColumnPiece> {
  finish(): { readonly records: TaskRecords; readonly block: ParsedBlock };
}

export interface RecordsSize {
  /** Indexed records of the task. */
  readonly records: number;
  /** Bytes of their text. Values in the path of a file count for each of its records. */
  readonly bytes: number;
  readonly batchSize: number;
}

export function columnRecords(columns: UsedColumns, { records, bytes, batchSize }: RecordsSize): ColumnRecords {
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
  return {
    get quota() {
      return builder.quota;
    },
    get badRecords() {
      return builder.badRecords;
    },
    get records() {
      return builder.records;
    },
    startPart: (file) => builder.startPart(file),
    add(piece, firstLine) {
      const inputs = features.map((maker) => readFeatures(maker.featuresOf(piece, hasFields)));
      const groups = groupsOf?.(piece) ?? piece.groups;
      builder.add({ ...piece, groups }, firstLine, inputs, rows?.rowsOf(piece));
    },
    bad: (record) => builder.bad(record),
    finish() {
      const block = builder.finish();
      return { records: blockRecords(block), block };
    },
  };
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
