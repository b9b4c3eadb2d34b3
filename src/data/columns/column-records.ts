/** What takes pieces of columns and makes the records of a task of them, as the model wants them. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Batch } from '../../model/model.ts';
import type { ReadRecords } from '../kernels/sparse-kernel.ts';
import { sparseKernel } from '../kernels/sparse-kernel.ts';
import type { SparseBlock } from '../parsed/sparse-block.ts';
import { SparseBlockBuilder } from '../parsed/sparse-block-builder.ts';
import { sparseRecords } from '../parsed/sparse-records.ts';
import { RecordPositions } from '../record-positions.ts';
import type { BadRecord, TaskRecords } from '../source.ts';
import { slotsOf } from './column.ts';
import { featureMaker, type PieceFeatures } from './features.ts';
import type { KnownColumns } from './numbers.ts';
import type { ColumnPiece } from './piece.ts';
import { RowMaker } from './rows.ts';

export interface ColumnRecords {
  readonly quota: number;
  readonly badRecords: number;
  readonly records: number;
  startPart(file: string): void;
  add(piece: ColumnPiece, firstLine: number): void;
  bad(record: BadRecord): void;
  finish(): { readonly records: TaskRecords; readonly block?: SparseBlock };
}

export interface UsedColumns extends KnownColumns {
  /** What the model takes. */
  readonly input: 'sparse' | 'dense';
  /** Whether it reads the fields of features. */
  readonly readsFields?: boolean | undefined;
}

export interface RecordsSize {
  /** Indexed records of the task. */
  readonly records: number;
  /** Of their text, those of values in the path of a file counted for each of its records. */
  readonly bytes: number;
  readonly batchSize: number;
}

export function columnRecords(columns: UsedColumns, size: RecordsSize): ColumnRecords {
  const inputs = slotsOf(columns.columns);
  const perRecord = 2 * inputs.numbers.length + inputs.single.length + columns.columns.length;
  if (size.records * perRecord > LIMITS.taskInputs) {
    throw new PaddletError('DataInvalid', `a task has ${size.records} records of up to ${perRecord} inputs: too many`, {
      hint: `at most ${LIMITS.taskInputs} in all: lower data.recordsPerTask`,
    });
  }
  return columns.input === 'sparse' ? sparseColumns(columns, size) : denseColumns(columns, size);
}

function sparseColumns(columns: UsedColumns, { records, bytes, batchSize }: RecordsSize): ColumnRecords {
  const { readsFields } = columns;
  const maker = featureMaker(columns);
  // An id of a list takes two bytes of text, with what separates it from the next one.
  const hasLists = slotsOf(columns.columns).lists.length > 0;
  const features = maker.mostFeatures(records, hasLists ? Math.ceil(bytes / 2) + records : 0);
  const builder = new SparseBlockBuilder({ records, features, batchSize, hasFields: readsFields }, sparseKernel());
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
      builder.add(readRecords(piece, maker.featuresOf(piece, readsFields), builder.firstEnd), firstLine);
    },
    bad: (record) => builder.bad(record),
    finish() {
      const block = builder.finish();
      return { records: sparseRecords(block), block };
    },
  };
}

/** Ends count from `firstEnd`. */
function readRecords(piece: ColumnPiece, made: PieceFeatures, firstEnd: number): Omit<ReadRecords, 'status'> {
  const { records, labels, weights, groups } = piece;
  const { count, ends, ids, values, fields } = made;
  for (let record = 0; record < records; record++) ends[record]! += firstEnd;
  const runs: number[] = [];
  for (let record = 0; record < records; record++) {
    const line = piece.lines[record]!;
    if (record === 0 || line !== piece.lines[record - 1]! + 1) runs.push(record, line);
  }
  return {
    records,
    features: count,
    labels,
    weights,
    groups: groups === undefined ? undefined : bytesOf(groups),
    ends,
    ids: bytesOf(ids),
    values,
    fields,
    runs: Uint32Array.from(runs),
  };
}

function denseColumns(columns: KnownColumns, { records }: RecordsSize): ColumnRecords {
  const maker = new RowMaker(columns);
  const { width } = maker;
  const rows = new Float32Array(records * width);
  const labels = new Float32Array(records);
  let weights: Float32Array | undefined;
  let groups: Uint32Array | undefined;
  const positions = new RecordPositions(records, 'line');
  return {
    get quota() {
      return Math.min(records - positions.records, LIMITS.pieceRecords);
    },
    get badRecords() {
      return positions.bad.length;
    },
    get records() {
      return positions.records;
    },
    startPart: (file) => positions.startPart(file),
    add(piece, firstLine) {
      const { good } = positions;
      rows.set(maker.rowsOf(piece), good * width);
      labels.set(piece.labels, good);
      if (piece.weights !== undefined) {
        // Records that come without one count 1.
        weights ??= new Float32Array(records).fill(1);
        weights.set(piece.weights, good);
      }
      if (piece.groups !== undefined) {
        groups ??= new Uint32Array(2 * records);
        groups.set(piece.groups, 2 * good);
      }
      for (let record = 0; record < piece.records; record++) positions.addGood(firstLine + piece.lines[record]!);
    },
    bad: (record) => positions.addBad(record),
    finish() {
      const between = (first: number, last: number): Batch => ({
        records: last - first,
        labels: labels.subarray(first, last),
        weights: weights?.subarray(first, last),
        groups: groups === undefined ? undefined : bytesOf(groups.subarray(2 * first, 2 * last)),
        sparse: [],
        dense: [{ width, values: rows.subarray(first * width, last * width) }],
      });
      const of = (goods: Uint32Array): Batch => {
        const values = new Float32Array(goods.length * width);
        const picked = groups && new Uint32Array(2 * goods.length);
        goods.forEach((good, at) => {
          values.set(rows.subarray(good * width, (good + 1) * width), at * width);
          picked?.set(groups!.subarray(2 * good, 2 * good + 2), 2 * at);
        });
        return {
          records: goods.length,
          labels: Float32Array.from(goods, (good) => labels[good]!),
          weights: weights && Float32Array.from(goods, (good) => weights![good]!),
          groups: picked && bytesOf(picked),
          sparse: [],
          dense: [{ width, values }],
        };
      };
      return { records: positions.taskRecords(between, of) };
    },
  };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
