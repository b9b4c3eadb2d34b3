/** Which indexed positions of a task hold good records, and where they come from. Batches are cut by position. */
import { assert } from '../base/assert.ts';
import type { BadRecord } from './source.ts';

export class RecordPositions {
  readonly bad: BadRecord[] = [];
  good = 0;
  records = 0;
  private readonly unit: 'line' | 'record';
  private readonly parts: { readonly file: string; readonly first: number }[] = [];
  /** Of each position: its 1-based line or record number. */
  private readonly lines: Float64Array;
  /** Good records before each position. */
  private readonly before: Uint32Array;

  /** `unit`: what `lines` number, for messages. */
  constructor(records: number, unit: 'line' | 'record') {
    this.unit = unit;
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

  /** Of the good ones of the records at these positions, which of the good ones each is. */
  goodAt(positions: Uint32Array): Uint32Array {
    return positions
      .filter((position) => this.goodBefore(position + 1) > this.goodBefore(position))
      .map((position) => this.goodBefore(position));
  }

  /** Such as `a9a.gz, lines 1001 to 1128`; parts of several files are separated by semicolons. */
  describe(from: number, to: number): string {
    const texts: string[] = [];
    this.parts.forEach(({ file, first }, at) => {
      const start = Math.max(from, first);
      const end = Math.min(to, this.parts[at + 1]?.first ?? this.records);
      if (start >= end) return;
      const lines = [this.lines[start]!, this.lines[end - 1]!];
      texts.push(`${file}, ${this.unit}${lines[0] === lines[1] ? ` ${lines[0]}` : `s ${lines[0]} to ${lines[1]}`}`);
    });
    return texts.join('; ');
  }

  private add(line: number): void {
    assert(this.records < this.lines.length, 'no more records than were indexed');
    this.lines[this.records++] = line;
    this.before[this.records] = this.good;
  }
}
