/** The fast form of the loop that makes columns of lines. All calls are synchronous. */
import { assert } from '../../../base/assert.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import { FRAME_AT, KernelInstance, PAGE_BYTES, roundUp } from '../../kernels/instance.ts';
import { FRAME, FRAME_WORDS } from './kernel-frame.ts';
import { writePlan } from './kernel-memory.ts';
import { type PlanPlaces, placesOf } from './kernel-places.ts';
import type { LineKernel } from './lines.ts';
import type { LinePlan } from './plan.ts';

const NEWLINE = 10;
/** No blank, and no part of UTF-8. */
const NO_TEXT_BYTE = 0xff;
const PLAN_AT = FRAME_AT + PAGE_BYTES;
/** What the kernel may read behind the text. */
const BEHIND_BYTES = 16;

export class TextKernel implements LineKernel<ColumnPiece> {
  readonly #instance = new KernelInstance();
  #plan: LinePlan | undefined;
  #places: PlanPlaces | undefined;
  /** Ids of lists that no field has, u32 halves. */
  #constantIds: Uint32Array = new Uint32Array(0);
  #textBytes = 0;
  #ids = 0;

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
    // Each id takes at least two bytes, since a separator is between two ids.
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

  /** Leaves the line that begins at `start` to the plain form: nothing begins with this byte. */
  spoil(start: number): void {
    const frame = this.#frame();
    new Uint8Array(this.#instance.buffer)[frame[FRAME.textFrom]! + start] = NO_TEXT_BYTE;
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

  /** Skips `lines` lines; the last one ends at `end`. */
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
    const status = this.#instance.kernels[plan.form.kernel](FRAME_AT);
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
      texts: places.texts.map(({ starts, ends }) => ({ starts: words(starts), ends: words(ends) })),
      bytes: new Uint8Array(buffer, places.textBytes, places.end - places.textBytes + this.#textBytes),
      times: undefined,
      lines: words(places.lines),
      starts: words(places.starts),
      ends: words(places.ends),
    };
    return { status, piece };
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

let shared: TextKernel | undefined;

/** One for the process: each of its calls ends before another one begins. */
export function textKernel(): TextKernel {
  shared ??= new TextKernel();
  return shared;
}
