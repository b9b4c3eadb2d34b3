/** Builds the records of a task from pieces of any kind. */
import type { Piece, PieceSink } from '../piece.ts';
import type { TaskRecords } from '../source.ts';
import { freeBlock, type ParsedBlock } from './block.ts';
import type { BlockBuilder } from './block-builder.ts';
import { blockRecords } from './block-records.ts';

export interface TaskSize {
  /** Number of indexed records of the task, including bad ones. */
  readonly records: number;
  /** Bytes of their text. Values in the path of a file count for each of its records. */
  readonly bytes: number;
  readonly batchSize: number;
}

export interface TaskSink<P extends Piece> extends PieceSink<P> {
  readonly records: number;
  /** The records that follow come from this file. */
  startPart(file: string): void;
  finish(): { readonly records: TaskRecords; readonly block: ParsedBlock };
}

/** `add` passes the good records of a piece to the builder. */
export const taskSink = <P extends Piece>(builder: BlockBuilder, add: PieceSink<P>['add']): TaskSink<P> => ({
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
  add,
  bad: (record) => builder.bad(record),
  finish() {
    const block = builder.finish();
    return { records: blockRecords(block, freeBlock), block };
  },
});
