/** Makes the blocks of a columns file of the records of another one. */
import { LIMITS } from '../../../base/limits.ts';
import type { BadRecord } from '../../bad-record.ts';
import { type ColumnSpec, slotsOf } from '../../columns/column.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { PieceSink } from '../../piece.ts';
import { BLOCK_RECORDS, encodeBlock, SECTION, type Section } from './block.ts';
import { kept } from './header.ts';

/** A block ends when the ids of its lists take this number of bytes. */
const LIST_BYTES = 1 << 20;
/** What the lists of a record may take: no block is larger than a record of text may be. */
const MOST_LIST_BYTES = LIMITS.recordBytes / 2;
/** Maximum bytes of what each record has. */
const FIXED_BYTES = LIMITS.recordBytes / 4;
const VALUE_BYTES = 8;

/** Takes records, and gives blocks. */
export class BlockWriter implements PieceSink<ColumnPiece> {
  readonly quota = LIMITS.pieceRecords;
  badRecords = 0;
  readonly #spec: ColumnSpec;
  readonly #source: string | undefined;
  readonly #made: Buffer[] = [];
  readonly #perBlock: number;
  #position = 0;
  #open: OpenBlock;

  /** `source`: the file that the records are of, which reasons name. */
  constructor(spec: ColumnSpec, source: string | undefined) {
    this.#spec = spec;
    this.#source = source;
    this.#perBlock = Math.min(BLOCK_RECORDS, Math.floor(FIXED_BYTES / (VALUE_BYTES * kept(spec).length)));
    this.#open = new OpenBlock(spec, this.#perBlock);
  }

  /** Number of records so far. */
  get records(): number {
    return this.#position + this.#open.records;
  }

  add(piece: ColumnPiece, firstLine: number): void {
    for (let record = 0; record < piece.records; record++) {
      const listBytes = VALUE_BYTES * listIdsOf(piece, record);
      if (listBytes > MOST_LIST_BYTES) {
        const reason = `the ids of its lists take ${listBytes} bytes, more than ${MOST_LIST_BYTES}`;
        this.#refuse(firstLine + piece.lines[record]!, reason);
      } else this.#open.add(piece, record);
      this.#endFull();
    }
  }

  bad({ line, reason }: BadRecord): void {
    this.#refuse(line, reason);
    this.#endFull();
  }

  #refuse(line: number, reason: string): void {
    this.badRecords += 1;
    this.#open.addBad(shortened(this.#source === undefined ? reason : `${this.#source}:${line}: ${reason}`));
  }

  /** The blocks that are whole, each once. */
  takeBlocks(): Buffer[] {
    return this.#made.splice(0);
  }

  /** The rest, and the block that ends the file. */
  finish(): Buffer[] {
    if (this.#open.records > 0) this.#end();
    return [...this.takeBlocks(), encodeBlock({ records: 0, good: 0, position: this.#position }, [])];
  }

  #endFull(): void {
    if (this.#open.records === this.#perBlock || this.#open.listBytes >= LIST_BYTES) this.#end();
  }

  #end(): void {
    this.#made.push(this.#open.encode(this.#position));
    this.#position += this.#open.records;
    this.#open = new OpenBlock(this.#spec, this.#perBlock);
  }
}

/** The ids of a column of lists. */
interface OpenList {
  readonly ends: Uint32Array;
  halves: Uint32Array;
  count: number;
}

class OpenBlock {
  records = 0;
  listBytes = 0;
  readonly #spec: ColumnSpec;
  #good = 0;
  readonly #labels: Float32Array;
  readonly #weights: Float32Array;
  readonly #groups: Uint32Array;
  readonly #times: Float64Array;
  readonly #numbers: readonly Float32Array[];
  readonly #single: readonly Uint32Array[];
  readonly #lists: readonly OpenList[];
  readonly #badPositions: number[] = [];
  readonly #badReasons: string[] = [];

  /** `room`: number of records that it has room for. */
  constructor(spec: ColumnSpec, room: number) {
    this.#spec = spec;
    const { numbers, single, lists } = slotsOf(spec.columns);
    this.#labels = new Float32Array(room);
    this.#weights = new Float32Array(room).fill(1);
    this.#groups = new Uint32Array(2 * room);
    this.#times = new Float64Array(room);
    this.#numbers = numbers.map(() => new Float32Array(room));
    this.#single = single.map(() => new Uint32Array(2 * room));
    this.#lists = lists.map(() => ({ ends: new Uint32Array(room), halves: new Uint32Array(2 * room), count: 0 }));
  }

  add(piece: ColumnPiece, record: number): void {
    const at = this.#good++;
    this.records += 1;
    this.#labels[at] = piece.labels[record]!;
    if (piece.weights !== undefined) this.#weights[at] = piece.weights[record]!;
    if (piece.groups !== undefined) this.#groups.set(pair(piece.groups, record), 2 * at);
    if (piece.times !== undefined) this.#times[at] = piece.times[record]!;
    for (let slot = 0; slot < this.#numbers.length; slot++) {
      this.#numbers[slot]![at] = piece.numbers[slot]![record]!;
    }
    for (let slot = 0; slot < this.#single.length; slot++) {
      const [from, into] = [piece.single[slot]!, this.#single[slot]!];
      into[2 * at] = from[2 * record]!;
      into[2 * at + 1] = from[2 * record + 1]!;
    }
    for (let slot = 0; slot < this.#lists.length; slot++) {
      const { starts, ends } = piece.lists[slot]!;
      this.#addList(this.#lists[slot]!, piece.listIds.subarray(2 * starts[record]!, 2 * ends[record]!), at);
    }
  }

  addBad(reason: string): void {
    this.#badPositions.push(this.records);
    this.#badReasons.push(reason);
    this.records += 1;
  }

  #addList(list: OpenList, halves: Uint32Array, at: number): void {
    const from = 2 * list.count;
    if (from + halves.length > list.halves.length) {
      const larger = new Uint32Array(2 * (from + halves.length));
      larger.set(list.halves.subarray(0, from));
      list.halves = larger;
    }
    list.halves.set(halves, from);
    list.count += halves.length / 2;
    list.ends[at] = list.count;
    this.listBytes += halves.byteLength;
  }

  encode(position: number): Buffer {
    const good = this.#good;
    const { numbers, single, lists } = slotsOf(this.#spec.columns);
    const sections = kept(this.#spec).flatMap((column, number): Section[] => {
      const section = (kind: number, content: ArrayBufferView): Section => ({ kind, column: number, content });
      switch (column.type) {
        case 'label':
          return [section(SECTION.labels, this.#labels.subarray(0, good))];
        case 'weight':
          return [section(SECTION.weights, this.#weights.subarray(0, good))];
        case 'group':
          return [section(SECTION.groups, this.#groups.subarray(0, 2 * good))];
        case 'time':
          return [section(SECTION.times, this.#times.subarray(0, good))];
        case 'number':
          return [section(SECTION.numbers, this.#numbers[numbers.indexOf(column)]!.subarray(0, good))];
        case 'category':
        case 'categories': {
          const slot = single.indexOf(column);
          if (slot >= 0) return [section(SECTION.ids, this.#single[slot]!.subarray(0, 2 * good))];
          const { ends, halves, count } = this.#lists[lists.indexOf(column)]!;
          return [
            section(SECTION.listEnds, ends.subarray(0, good)),
            section(SECTION.listIds, halves.subarray(0, 2 * count)),
          ];
        }
        default:
          return [];
      }
    });
    if (this.#badPositions.length > 0) {
      const reasons = Buffer.from(JSON.stringify(this.#badReasons));
      sections.push({ kind: SECTION.badPositions, column: 0, content: Uint32Array.from(this.#badPositions) });
      sections.push({ kind: SECTION.badReasons, column: 0, content: reasons });
    }
    return encodeBlock({ records: this.records, good, position }, sections);
  }
}

const shortened = (reason: string): string =>
  reason.length > LIMITS.reasonCharacters ? `${reason.slice(0, LIMITS.reasonCharacters)}…` : reason;

const listIdsOf = ({ lists }: ColumnPiece, record: number): number =>
  lists.reduce((sum, { starts, ends }) => sum + ends[record]! - starts[record]!, 0);

const pair = (halves: Uint32Array, at: number): Uint32Array => halves.subarray(2 * at, 2 * at + 2);
