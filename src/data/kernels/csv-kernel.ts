/**
 * The fast form of two loops: lines of CSV text to columns, values to the ids of their combinations. All calls are
 * synchronous.
 */
import { assert } from '../../base/assert.ts';
import type { ColumnPiece } from '../columns/piece.ts';
import type { LinePlan } from '../formats/csv/plan.ts';
import { FRAME, FRAME_WORDS, type PlanPlaces, placesOf, writePlan } from './csv-memory.ts';
import { FRAME_AT, KernelInstance, PAGE_BYTES, roundUp } from './instance.ts';

export { READ } from './exports.ts';

const NEWLINE = 10;
/** For the rows of `crossIds`. It is there from the beginning: what `next` returned stays where it is. */
const ROWS_AT = FRAME_AT + PAGE_BYTES;
const ROWS_BYTES = 8 * PAGE_BYTES;
const PLAN_AT = ROWS_AT + ROWS_BYTES;
/** What the kernel may read behind the text. */
const BEHIND_BYTES = 16;

export class CsvKernel {
  readonly #instance = new KernelInstance();
  #plan: LinePlan | undefined;
  #places: PlanPlaces | undefined;
  /** Ids of lists that no field has, u32 halves. */
  #constantIds: Uint32Array = new Uint32Array(0);
  #textBytes = 0;
  #ids = 0;

  constructor() {
    this.#instance.reserve(PLAN_AT);
  }

  /** Lines are read by that plan from the next `begin` on. */
  prepare(plan: LinePlan): void {
    if (plan === this.#plan) return;
    this.#plan = undefined;
    const places = placesOf(plan, PLAN_AT);
    this.#instance.reserve(places.end);
    this.#constantIds = writePlan(plan, places, this.#instance.buffer, this.#frame());
    this.#places = places;
    this.#plan = plan;
  }

  /** The text that is read from now on: whole lines; the last one may lack its line break. */
  begin(text: Uint8Array): void {
    const from = this.#prepared().places.end;
    const isEnded = text.length === 0 || text.at(-1) === NEWLINE;
    const end = from + text.length + (isEnded ? 0 : 1);
    this.#textBytes = text.length;
    this.#ids = roundUp(end + BEHIND_BYTES);
    // Between two ids there is a byte.
    const most = this.#constantIds.length / 2 + (this.#hasLists() ? Math.ceil((text.length + 1) / 2) : 0);
    this.#instance.reserve(this.#ids + 8 * most);
    const bytes = new Uint8Array(this.#instance.buffer);
    bytes.set(text, from);
    if (!isEnded) bytes[end - 1] = NEWLINE;
    new Uint32Array(this.#instance.buffer, this.#ids).set(this.#constantIds);
    const frame = this.#frame();
    frame.set([from, end, 0], FRAME.at);
    frame.set([from, from + text.length], FRAME.textFrom);
    frame[FRAME.ids] = this.#ids;
  }

  /** Where the line that is read next begins in the text. */
  get at(): number {
    const frame = this.#frame();
    return Math.min(frame[FRAME.at]! - frame[FRAME.textFrom]!, this.#textBytes);
  }

  /** Lines read or skipped so far. */
  get lines(): number {
    return this.#frame()[FRAME.line]!;
  }

  /** Leaves out so many lines; the last one ends at `end`. */
  skip(end: number, lines: number): void {
    const frame = this.#frame();
    // The line break that was added ends a line that is left out.
    frame[FRAME.at] = end >= this.#textBytes ? frame[FRAME.end]! : frame[FRAME.textFrom]! + end;
    frame[FRAME.line]! += lines;
  }

  /** Up to `quota` records, and no more than there is room for. Views, valid until the next call that reads. */
  next(quota: number): { status: number; piece: ColumnPiece } {
    const { plan, places } = this.#prepared();
    const frame = this.#frame();
    const { buffer } = this.#instance;
    frame[FRAME.quota] = Math.min(quota, places.most);
    frame[FRAME.idCount] = this.#constantIds.length / 2;
    const status = this.#instance.kernels.parseCsv(FRAME_AT);
    const records = frame[FRAME.records]!;
    const floats = (at: number): Float32Array => new Float32Array(buffer, at, records);
    const words = (at: number): Uint32Array => new Uint32Array(buffer, at, records);
    const halves = (at: number): Uint32Array => new Uint32Array(buffer, at, 2 * records);
    const piece = {
      records,
      labels: floats(places.labels),
      weights: plan.hasWeights ? floats(places.weights) : undefined,
      groups: plan.hasGroups ? halves(places.groups) : undefined,
      numbers: places.numbers.map(floats),
      single: places.single.map(halves),
      lists: places.lists.map(({ starts, ends }) => ({ starts: words(starts), ends: words(ends) })),
      listIds: new Uint32Array(buffer, this.#ids, 2 * frame[FRAME.idCount]!),
      lines: words(places.lines),
      starts: words(places.starts),
      ends: words(places.ends),
    };
    return { status, piece };
  }

  /**
   * As `crossId` of each of `count` rows of ids; `parts` has the first ones, the second ones, …. All in u32 halves.
   * What `next` returned stays valid, and may be among the parts.
   */
  crossIds(parts: readonly Uint32Array[], count: number, seed: bigint, buckets = 0): Uint32Array {
    const { buffer, kernels } = this.#instance;
    const perRow = parts.length;
    const atOnce = Math.floor(ROWS_BYTES / (8 * (perRow + 1)));
    const crossed = new Uint32Array(2 * count);
    for (let from = 0; from < count; from += atOnce) {
      const rows = Math.min(atOnce, count - from);
      const out = ROWS_AT + 8 * perRow * rows;
      const ids = new Uint32Array(buffer, ROWS_AT, 2 * perRow * rows);
      parts.forEach((part, place) => {
        for (let row = 0; row < rows; row++) {
          const at = 2 * (row * perRow + place);
          ids[at] = part[2 * (from + row)]!;
          ids[at + 1] = part[2 * (from + row) + 1]!;
        }
      });
      kernels.hashRows(ROWS_AT, rows, perRow, seed, BigInt(buckets), out);
      crossed.set(new Uint32Array(buffer, out, 2 * rows), 2 * from);
    }
    return crossed;
  }

  #prepared(): { plan: LinePlan; places: PlanPlaces } {
    const [plan, places] = [this.#plan, this.#places];
    assert(plan !== undefined && places !== undefined, 'a plan is prepared');
    return { plan, places };
  }

  #hasLists(): boolean {
    return this.#prepared().plan.slots.lists.length > 0;
  }

  #frame(): Uint32Array {
    return new Uint32Array(this.#instance.buffer, FRAME_AT, FRAME_WORDS);
  }
}

let shared: CsvKernel | undefined;

/** One for the process: each of its calls ends before another one begins. */
export function csvKernel(): CsvKernel {
  shared ??= new CsvKernel();
  return shared;
}
