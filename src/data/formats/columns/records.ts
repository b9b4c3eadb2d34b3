/** The records of a block, as the columns of a job want them. */
import { LIMITS } from '../../../base/limits.ts';
import { parsedJson } from '../../../base/parsed-json.ts';
import type { BadRecord } from '../../bad-record.ts';
import { type ColumnSpec, type NumberColumn, slotsOf } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import { type ColumnPiece, type ListIds, NO_TEXT, slicePiece } from '../../columns/piece.ts';
import { expectedLabels, isWeight, type LabelRule, labelOf } from '../../labels.ts';
import type { PieceSink } from '../../piece.ts';
import type { FileLayout } from '../../source.ts';
import { type Block, SECTION } from './block.ts';

/** Where the columns of a job are in the blocks of a file. */
export interface BlockPlan {
  readonly file: string;
  readonly labels: LabelRule;
  readonly label: number;
  readonly weight: number | undefined;
  readonly group: number | undefined;
  readonly time: number | undefined;
  readonly numbers: readonly { readonly column: number; readonly spec: NumberColumn }[];
  readonly single: readonly number[];
  readonly lists: readonly { readonly column: number; readonly name: string; readonly maxLength: number }[];
}

export function blockPlan(file: string, spec: ColumnSpec, { positions }: FileLayout, labels: LabelRule): BlockPlan {
  const columns = fieldColumns(spec);
  const at = (name: string): number => positions[columns.findIndex((column) => column.name === name)]!;
  const only = (type: string): number | undefined => {
    const column = columns.find((one) => one.type === type);
    return column && at(column.name);
  };
  const { numbers, single, lists } = slotsOf(spec.columns);
  return {
    file,
    labels,
    label: only('label')!,
    weight: only('weight'),
    group: only('group'),
    time: only('time'),
    numbers: numbers.map((column) => ({ column: at(column.name), spec: column })),
    single: single.map(({ name }) => at(name)),
    lists: lists.map((column) => {
      const maxLength = column.type === 'categories' ? column.maxLength : 1;
      return { column: at(column.name), name: column.name, maxLength };
    }),
  };
}

/** The records of a block in their order, good ones as views of its bytes. */
export class BlockRecords {
  readonly #block: Block;
  readonly #plan: BlockPlan;
  readonly #piece: ColumnPiece;
  /** For each record, its number among the good ones of the block; -1 if it is bad. */
  readonly #goodAt: Int32Array;
  readonly #reasons = new Map<number, string>();
  readonly #offset: number;

  /** `offset`: of the block in its file. Throws a `Fault` when the block is not as its plan says. */
  constructor(block: Block, bytes: Buffer, offset: number, plan: BlockPlan) {
    this.#block = block;
    this.#plan = plan;
    this.#offset = offset;
    this.#goodAt = new Int32Array(block.records);
    this.#takeBad(bytes);
    this.#piece = pieceOf(block, bytes, plan, this.#goodAt);
    this.#judge();
  }

  /** Passes on at most `most` records from `at` on, as far as the sink has room. Returns where it stopped. */
  pass(at: number, most: number, into: PieceSink<ColumnPiece>): number {
    const end = Math.min(this.#block.records, at + most);
    let next = at;
    while (next < end && into.quota > 0) {
      const first = this.#goodAt[next]!;
      if (first < 0) {
        into.bad(this.#badRecord(next), { start: 0, end: this.#block.bytes });
        next += 1;
        continue;
      }
      const limit = Math.min(end, next + into.quota);
      let to = next + 1;
      while (to < limit && this.#goodAt[to]! === first + to - next) to += 1;
      into.add(slicePiece(this.#piece, first, first + to - next), this.#block.position + 1);
      next = to;
    }
    return next;
  }

  #badRecord(record: number): BadRecord {
    const line = this.#block.position + record + 1;
    return { file: this.#plan.file, line, byteOffset: this.#offset, reason: this.#reasons.get(record)! };
  }

  /** Takes the records that were bad when the file was made. */
  #takeBad(bytes: Buffer): void {
    const { records, good } = this.#block;
    let bad: readonly (readonly [number, string])[] = [];
    if (good < records) {
      const positions = words(this.#block, bytes, SECTION.badPositions, 0, records - good);
      const isAscending = positions.every((position, at) => at === 0 || positions[at - 1]! < position);
      check(isAscending, 'its bad records are out of order');
      const reasons = parsedReasons(contentOf(this.#block, bytes, SECTION.badReasons, 0));
      check(reasons.length === positions.length, 'it does not say why records are bad');
      bad = reasons.map((reason, at) => [positions[at]!, reason]);
    }
    for (const [position, reason] of bad) this.#reasons.set(position, reason);
    let count = 0;
    for (let record = 0; record < records; record++) {
      this.#goodAt[record] = this.#reasons.has(record) ? -1 : count++;
    }
    check(count === good, 'its counts do not fit');
  }

  /** Those that the job does not take: a column after the other, as most have none. */
  #judge(): void {
    const { labels: rule, numbers, lists, weight } = this.#plan;
    const { labels, weights, ...piece } = this.#piece;
    for (let good = 0; good < labels.length; good++) {
      const label = labelOf(rule, labels[good]!);
      if (Number.isNaN(label)) this.#refuse(good, `label ${labels[good]} is not ${expectedLabels(rule)}`);
      labels[good] = label;
    }
    numbers.forEach(({ spec: { name, missing } }, slot) => {
      const values = piece.numbers[slot]!;
      const isRequired = missing === 'error';
      for (let good = 0; good < values.length; good++) {
        const value = values[good]!;
        if (value - value === 0) continue;
        if (!Number.isNaN(value)) this.#refuse(good, `column ${name} is not a finite number`);
        else if (isRequired) this.#refuse(good, `column ${name} has no value`);
      }
    });
    lists.forEach(({ name, maxLength }, slot) => {
      const { starts, ends } = piece.lists[slot]!;
      for (let good = 0; good < starts.length; good++) {
        const length = ends[good]! - starts[good]!;
        if (length > maxLength)
          this.#refuse(good, `column ${name}: ${length} values, more than ${maxLength} (maxLength)`);
      }
    });
    if (weight === undefined) return;
    weights?.forEach((value, good) => {
      if (!isWeight(value)) this.#refuse(good, `weight ${value} is not a number from 0 on`);
    });
  }

  /** Keeps only the first reason of a record. */
  #refuse(good: number, reason: string): void {
    const record = this.#piece.lines[good]!;
    this.#goodAt[record] = -1;
    if (!this.#reasons.has(record)) this.#reasons.set(record, reason);
  }
}

/** A block that is not as it should be; its message says why. */
export class Fault extends Error {}

function check(holds: boolean, fault: string): asserts holds {
  if (!holds) throw new Fault(fault);
}

function pieceOf(block: Block, bytes: Buffer, plan: BlockPlan, goodAt: Int32Array): ColumnPiece {
  const { good } = block;
  const lines = new Uint32Array(good);
  goodAt.forEach((at, record) => {
    if (at >= 0) lines[at] = record;
  });
  const listIds = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return {
    records: good,
    labels: floats(block, bytes, SECTION.labels, plan.label).slice(),
    weights: plan.weight === undefined ? undefined : floats(block, bytes, SECTION.weights, plan.weight),
    groups: plan.group === undefined ? undefined : words(block, bytes, SECTION.groups, plan.group, 2 * good),
    times: plan.time === undefined ? undefined : timesIn(block, bytes, plan.time),
    numbers: plan.numbers.map(({ column }) => floats(block, bytes, SECTION.numbers, column)),
    single: plan.single.map((column) => words(block, bytes, SECTION.ids, column, 2 * good)),
    lists: plan.lists.map(({ column }) => listOf(block, bytes, column)),
    // The ids of lists are where they are in the block.
    listIds,
    texts: [],
    bytes: NO_TEXT,
    lines,
    starts: new Uint32Array(good),
    ends: new Uint32Array(good).fill(block.bytes),
  };
}

function listOf(block: Block, bytes: Buffer, column: number): ListIds {
  const ends = words(block, bytes, SECTION.listEnds, column, block.good);
  const found = block.section(SECTION.listIds, column);
  check(found !== undefined && found.length % 8 === 0, `column ${column} has no ids`);
  const first = found.offset / 8;
  const [starts, placed] = [new Uint32Array(block.good), new Uint32Array(block.good)];
  let before = 0;
  for (let record = 0; record < block.good; record++) {
    check(ends[record]! >= before, `the lists of column ${column} are out of order`);
    starts[record] = first + before;
    before = ends[record]!;
    placed[record] = first + before;
  }
  check(before === found.length / 8, `the lists of column ${column} do not add up`);
  return { starts, ends: placed };
}

function contentOf(block: Block, bytes: Buffer, kind: number, column: number, length?: number): Buffer {
  const found = block.section(kind, column);
  check(found !== undefined, `it has no section ${kind} of column ${column}`);
  check(length === undefined || found.length === length, `section ${kind} of column ${column} has another length`);
  return bytes.subarray(found.offset, found.offset + found.length);
}

function words(block: Block, bytes: Buffer, kind: number, column: number, count: number): Uint32Array {
  const content = contentOf(block, bytes, kind, column, 4 * count);
  return new Uint32Array(content.buffer, content.byteOffset, count);
}

function floats(block: Block, bytes: Buffer, kind: number, column: number): Float32Array {
  const content = contentOf(block, bytes, kind, column, 4 * block.good);
  return new Float32Array(content.buffer, content.byteOffset, block.good);
}

function timesIn(block: Block, bytes: Buffer, column: number): Float64Array {
  const content = contentOf(block, bytes, SECTION.times, column, 8 * block.good);
  return new Float64Array(content.buffer, content.byteOffset, block.good);
}

function parsedReasons(content: Buffer): string[] {
  const parsed = parsedJson(content.toString());
  check(Array.isArray(parsed) && parsed.every((reason) => typeof reason === 'string'), 'its reasons cannot be read');
  return parsed.map((reason) => reason.slice(0, LIMITS.reasonCharacters + 1).replace(/\p{Cc}/gu, ' '));
}
