/** Sparse text as a task has it, without files. */
import { expect } from 'vitest';
import { sparseReading, sparseRecords } from '../../../../src/data/formats/libsvm/format.ts';
import { readText } from '../../../../src/data/formats/text/read-text.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import type { ParsedBlock } from '../../../../src/data/parsed/block.ts';
import { blockRecords } from '../../../../src/data/parsed/block-records.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';

export interface SparseText {
  readonly file: string;
  /** A string is encoded as UTF-8. */
  readonly text: string | Buffer;
  readonly labels: LabelRule;
  readonly batchSize: number;
  readonly hasFields?: boolean;
  readonly offset?: number;
  readonly firstLine?: number;
  /** By the plain form alone. */
  readonly plainly?: boolean;
}

export function sparseBlock(how: SparseText): ParsedBlock {
  const { file, text, labels, batchSize, hasFields = false, offset = 0, firstLine = 1, plainly = false } = how;
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const into = sparseRecords({ records: bytes.length + 1, bytes: bytes.length, batchSize }, hasFields);
  into.startPart(file);
  const reading = sparseReading(labels, hasFields);
  const used = plainly ? { ...reading, kernel: () => undefined } : reading;
  const lines = bytes.length === 0 ? 0 : bytes.toString('latin1').replace(/\n$/, '').split('\n').length;
  const done = readText({ file, bytes, offset, firstLine }, used, into);
  expect(done).toEqual({ bytes: bytes.length, lines, isFull: false });
  return into.finish().block!;
}

export const sparseTask = (how: SparseText): TaskRecords => blockRecords(sparseBlock(how));
