/** The records of one task as bytes of images with their labels; a batch turns them into rows of floats. */
import { assert } from '../base/assert.ts';
import type { Batch } from '../model/model.ts';
import { expectedLabels, type LabelRule, labelOf } from './labels.ts';
import { RecordPositions } from './record-positions.ts';
import type { TaskRecords } from './source.ts';

/** byte / 255 in f32. */
const UNIT = Float32Array.from({ length: 256 }, (_, byte) => byte / 255);

export interface ImagesPart {
  readonly file: string;
  readonly firstRecord: number;
  /** Of the first image in the file. */
  readonly offset: number;
  readonly images: Uint8Array;
  readonly classes: Uint8Array;
}

export class DenseRecordsBuilder {
  private readonly width: number;
  private readonly pixels: Uint8Array;
  private readonly labels: Float32Array;
  private readonly positions: RecordPositions;

  constructor(records: number, width: number) {
    this.width = width;
    this.pixels = new Uint8Array(records * width);
    this.labels = new Float32Array(records);
    this.positions = new RecordPositions(records, 'record');
  }

  add(part: ImagesPart, rule: LabelRule): void {
    const { width, positions } = this;
    assert(part.images.length === part.classes.length * width, 'an image a label');
    positions.startPart(part.file);
    /** Where the good images begin that are not copied yet, and where they go to. */
    let from = 0;
    let to = positions.good;
    const copyBefore = (at: number): void => {
      this.pixels.set(part.images.subarray(from * width, at * width), to * width);
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
    const between = (first: number, last: number): Batch => {
      const values = new Float32Array((last - first) * width);
      const base = first * width;
      for (let at = 0; at < values.length; at++) values[at] = UNIT[pixels[base + at]!]!;
      return {
        records: last - first,
        labels: labels.subarray(first, last),
        sparse: [],
        dense: [{ width, values }],
      };
    };
    const of = (goods: Uint32Array): Batch => {
      const values = new Float32Array(goods.length * width);
      goods.forEach((good, at) => {
        for (let input = 0; input < width; input++) values[at * width + input] = UNIT[pixels[good * width + input]!]!;
      });
      return {
        records: goods.length,
        labels: Float32Array.from(goods, (good) => labels[good]!),
        sparse: [],
        dense: [{ width, values }],
      };
    };
    return positions.taskRecords(between, of);
  }
}
