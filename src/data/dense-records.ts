/** The records of one task as bytes of images with their labels; a batch is a part of these. */
import { assert } from '../base/assert.ts';
import type { Batch } from '../model/model.ts';
import { expectedLabels, type LabelRule, labelOf } from './labels.ts';
import { RecordPositions } from './record-positions.ts';
import type { TaskRecords } from './source.ts';
import { giveBack, takeMemory } from './spare-memory.ts';

export interface ImagesPart {
  readonly file: string;
  readonly firstRecord: number;
  /** Offset of the first image in the file. */
  readonly offset: number;
  /** Perhaps in the builder's room. */
  readonly images: Uint8Array;
  readonly classes: Uint8Array;
}

export class DenseRecordsBuilder {
  private readonly width: number;
  private readonly pixels: Uint8Array<ArrayBuffer>;
  private readonly labels: Float32Array;
  private readonly positions: RecordPositions;

  constructor(records: number, width: number) {
    this.width = width;
    this.pixels = new Uint8Array(takeMemory(records * width));
    this.labels = new Float32Array(records);
    this.positions = new RecordPositions(records);
  }

  /** Where the images that are added next can be read to: good ones need not be copied then. */
  room(byteLength: number): Uint8Array {
    const from = this.positions.good * this.width;
    return this.pixels.subarray(from, from + byteLength);
  }

  add(part: ImagesPart, rule: LabelRule): void {
    const { width, positions } = this;
    assert(part.images.length === part.classes.length * width, 'an image a label');
    positions.startPart(part.file);
    /** Where the good images begin that are not copied yet, and where they go to. */
    let from = 0;
    let to = positions.good;
    const copyBefore = (at: number): void => {
      const { buffer, byteOffset } = part.images;
      const isThere = buffer === this.pixels.buffer && byteOffset + from * width === to * width;
      if (!isThere) this.pixels.set(part.images.subarray(from * width, at * width), to * width);
      from = at + 1;
      to = positions.good;
    };
    part.classes.forEach((value, at) => {
      const line = part.firstRecord + at + 1;
      const label = labelOf(rule, value);
      if (Number.isNaN(label)) {
        copyBefore(at);
        const reason = `label ${value} is not ${expectedLabels(rule)}`;
        positions.addBad({ file: part.file, line, byteOffset: part.offset + at * width, reason });
        return;
      }
      this.labels[positions.good] = label;
      positions.addGood(line);
    });
    copyBefore(part.classes.length);
  }

  finish(): TaskRecords {
    const { width, pixels, labels, positions } = this;
    let isReleased = false;
    const batchOf = (batchLabels: Float32Array, values: Uint8Array): Batch => ({
      records: batchLabels.length,
      labels: batchLabels,
      sparse: [],
      dense: [{ width, values }],
    });
    const between = (first: number, last: number): Batch => {
      assert(!isReleased, 'records are not read after they were released');
      return batchOf(labels.subarray(first, last), pixels.subarray(first * width, last * width));
    };
    const of = (goods: Uint32Array): Batch => {
      assert(!isReleased, 'records are not read after they were released');
      const values = new Uint8Array(goods.length * width);
      goods.forEach((good, at) => {
        values.set(pixels.subarray(good * width, (good + 1) * width), at * width);
      });
      return batchOf(
        Float32Array.from(goods, (good) => labels[good]!),
        values,
      );
    };
    const release = (): void => {
      if (!isReleased) giveBack(pixels.buffer);
      isReleased = true;
    };
    return { ...positions.taskRecords(between, of), release };
  }
}
