/**
 * The records of one task in sparse form: features of all good records in flat arrays, ids numbered over the whole
 * task. A batch is then a few slices of these with its ids renumbered, without any hashing.
 */
import type { SparseBatch } from '../model/model.ts';
import { createFeatureDictionary } from './feature-dictionary.ts';
import { RecordPositions } from './record-positions.ts';
import type { BadRecord, TaskRecords } from './source.ts';

/** Takes the records of a task one after the other, as a parser reads them. */
export class SparseRecordsBuilder {
  private readonly dictionary = createFeatureDictionary();
  private readonly columns: Uint32Array;
  private readonly values: Float32Array;
  private readonly offsets: Uint32Array;
  private readonly labels: Float32Array;
  private readonly positions: RecordPositions;
  private features = 0;

  /** `features`: an upper bound of all the task's features. */
  constructor(records: number, features: number) {
    this.columns = new Uint32Array(features);
    this.values = new Float32Array(features);
    this.offsets = new Uint32Array(records + 1);
    this.labels = new Float32Array(records);
    this.positions = new RecordPositions(records, 'line');
  }

  /** The records that follow are of this file. */
  startPart(file: string): void {
    this.positions.startPart(file);
  }

  /** Adds a feature to the record being read; its id in two u32 halves. */
  feature(low: number, high: number, value: number): void {
    const at = this.features++;
    this.columns[at] = this.dictionary.indexOf(low, high);
    this.values[at] = value;
  }

  /** Features of the record being read, so far. */
  get pending(): number {
    return this.features - this.offsets[this.positions.good]!;
  }

  /** Ends the record being read. */
  good(label: number, line: number): void {
    this.labels[this.positions.good] = label;
    this.positions.addGood(line);
    this.offsets[this.positions.good] = this.features;
  }

  /** Ends the record being read and drops its features. */
  bad(record: BadRecord): void {
    this.features = this.offsets[this.positions.good]!;
    this.positions.addBad(record);
  }

  get badRecords(): number {
    return this.positions.bad.length;
  }

  get records(): number {
    return this.positions.records;
  }

  finish(): TaskRecords {
    const { positions, columns, values, offsets, labels } = this;
    const halves = this.dictionary.halves.slice(0, 2 * this.dictionary.size);
    // -1, or the number of the task's id within the batch being made.
    const numberInBatch = new Int32Array(this.dictionary.size).fill(-1);

    function batch(from: number, to: number): SparseBatch {
      const first = positions.goodBefore(from);
      const last = positions.goodBefore(to);
      const base = offsets[first]!;
      const count = offsets[last]! - base;
      const batchColumns = new Uint32Array(count);
      const seen = new Uint32Array(count);
      let distinct = 0;
      for (let at = 0; at < count; at++) {
        const column = columns[base + at]!;
        let number = numberInBatch[column]!;
        if (number < 0) {
          number = distinct++;
          numberInBatch[column] = number;
          seen[number] = column;
        }
        batchColumns[at] = number;
      }
      const ids = new Uint32Array(2 * distinct);
      for (let number = 0; number < distinct; number++) {
        const column = seen[number]!;
        ids[2 * number] = halves[2 * column]!;
        ids[2 * number + 1] = halves[2 * column + 1]!;
        numberInBatch[column] = -1;
      }
      return {
        records: last - first,
        offsets: offsets.subarray(first, last + 1).map((offset) => offset - base),
        columns: batchColumns,
        values: values.subarray(base, base + count),
        ids: new Uint8Array(ids.buffer),
        distinct,
        labels: labels.subarray(first, last),
      };
    }
    return {
      records: positions.records,
      bad: positions.bad,
      batch: (from, to) => ({ kind: 'sparse', data: batch(from, to) }),
      goodBefore: (position) => positions.goodBefore(position),
      describe: (from, to) => positions.describe(from, to),
    };
  }
}
