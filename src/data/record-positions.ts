/** Which indexed positions of a task hold good records, and where they come from. Batches are cut by position. */
import { assert } from '../base/assert.ts';
import type { Batch } from '../model/model.ts';
import type { BadRecord } from './bad-record.ts';
import type { TaskRecords } from './source.ts';

export class RecordPositions {
  readonly bad: BadRecord[] = [];
  good = 0;
  records = 0;
  private readonly parts: { readonly file: string; readonly first: number }[] = [];
  /** For each position: its 1-based record number. */
  private readonly lines: Float64Array;
  /** Good records before each position. */
  private readonly before: Uint32Array;

  constructor(records: number) {
    this.lines = new Float64Array(records);
    this.before = new Uint32Array(records + 1);
  }

  /** The records that follow are of this file. */
  startPart(file: string): void {
    this.parts.push({ file, first: this.records });
  }

  addGood(line: number): void {
    this.good++;
    this.add(line);
  }

  addBad(record: BadRecord): void {
    this.bad.push(record);
    this.add(record.line);
  }

  goodBefore(position: number): number {
    assert(0 <= position && position <= this.records, `position ${position} is in ${this.records} records`);
    return this.before[position]!;
  }

  /** The records, whose batches are made of good ones: of those from one on, up to another, or of these ones. */
  taskRecords(between: (from: number, to: number) => Batch, of: (goods: Uint32Array) => Batch): TaskRecords {
    const goodBefore = (position: number): number => this.goodBefore(position);
    return {
      records: this.records,
      bad: this.bad,
      batch: (from, to) => between(goodBefore(from), goodBefore(to)),
      pick: (positions) => of(positions.filter((at) => goodBefore(at + 1) > goodBefore(at)).map(goodBefore)),
      goodBefore,
      describe: (from, to) => this.describe(from, to),
    };
  }

  /** Such as `images.gz, records 1001 to 1128`; parts of several files are separated by semicolons. */
  describe(from: number, to: number): string {
    const texts: string[] = [];
    this.parts.forEach(({ file, first }, at) => {
      const start = Math.max(from, first);
      const end = Math.min(to, this.parts[at + 1]?.first ?? this.records);
      if (start >= end) return;
      const lines = [this.lines[start]!, this.lines[end - 1]!];
      texts.push(`${file}, record${lines[0] === lines[1] ? ` ${lines[0]}` : `s ${lines[0]} to ${lines[1]}`}`);
    });
    return texts.join('; ');
  }

  private add(line: number): void {
    assert(this.records < this.lines.length, 'no more records than were indexed');
    this.lines[this.records++] = line;
    this.before[this.records] = this.good;
  }
}
