/**
 * Reads the headers of hot messages without the library: what is expected next is compared, not looked up
 * (docs/decisions/0101). Understood are the fields in the order of their table, with numbers in any of their forms;
 * anything else, even if merely unusual, is left to the library (`cbor.ts`), so that this decides nothing.
 */
import { DECIMAL } from '../messages/field-table.ts';
import type { FrameKind } from './frame-kind.ts';
import {
  ARRAY,
  FALSE,
  FLOAT_64,
  IN_1_BYTE,
  IN_2_BYTES,
  IN_4_BYTES,
  LAYOUTS,
  MAP,
  MAX_IN_HEAD,
  type Slot,
  TEXT,
  TRUE,
} from './header-layout.ts';
import type { LastValue } from './last-value.ts';

/** A header, or undefined when the library has to read it. */
export function readHotHeader(kind: FrameKind, bytes: Uint8Array, from: number, to: number): unknown {
  const cursor = new Cursor(bytes, from, to);
  const pairs = cursor.head(MAP);
  for (const layout of LAYOUTS[kind]) {
    if (!cursor.meets(layout.opening)) continue;
    const header: Record<string, unknown> = { type: layout.type };
    readValues(cursor, header, layout.slots, pairs - 1);
    return cursor.isAtEnd ? header : undefined;
  }
  return undefined;
}

/** Reads exactly so many of the slots' fields. */
function readValues(cursor: Cursor, into: Record<string, unknown>, slots: readonly Slot[], pairs: number): void {
  let left = pairs;
  for (const slot of slots) {
    if (cursor.meets(slot.key)) {
      into[slot.name] = readValue(cursor, slot);
      left--;
    } else if (!slot.isOptional) {
      cursor.fail();
      return;
    }
  }
  if (left !== 0) cursor.fail();
}

function readValue(cursor: Cursor, slot: Slot): unknown {
  if (!slot.isSteady) return readNew(cursor, slot);
  if (cursor.sameAs(slot.last)) return slot.last.value;
  const from = cursor.at;
  // Several headers share it.
  const value = Object.freeze(readNew(cursor, slot));
  if (!cursor.hasFailed) cursor.keep(slot.last, value, from);
  return value;
}

function readNew(cursor: Cursor, slot: Slot): unknown {
  switch (slot.kind) {
    case 'count':
      return cursor.count(slot.max);
    case 'real':
      return cursor.real();
    case 'flag':
      return cursor.flag();
    case 'text':
      return cursor.text(slot.max);
    case 'decimal':
      return readDecimal(cursor, slot);
    case 'choice':
      return readChoice(cursor, slot);
    case 'map':
      return readMap(cursor, slot.slots);
    case 'list':
      return readList(cursor, slot);
  }
}

function readDecimal(cursor: Cursor, { max }: Slot): string {
  const digits = cursor.text(max);
  if (!DECIMAL.test(digits)) cursor.fail();
  return digits;
}

function readChoice(cursor: Cursor, { choiceTexts, choices }: Slot): string | undefined {
  for (let i = 0; i < choiceTexts.length; i++) if (cursor.meets(choiceTexts[i]!)) return choices[i];
  cursor.fail();
  return undefined;
}

function readMap(cursor: Cursor, slots: readonly Slot[]): unknown {
  const map: Record<string, unknown> = {};
  readValues(cursor, map, slots, cursor.head(MAP));
  return map;
}

function readList(cursor: Cursor, { slots, max }: Slot): unknown {
  const list: unknown[] = [];
  const items = cursor.head(ARRAY);
  if (items > max) cursor.fail();
  for (let i = 0; i < items && !cursor.hasFailed; i++) list.push(Object.freeze(readMap(cursor, slots)));
  return list;
}

const double = new DataView(new ArrayBuffer(8));

/** Goes through a header. After something unexpected it never comes to the end, and what it returned is of no use. */
class Cursor {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;
  #failed = false;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return !this.#failed && this.#at === this.#end;
  }

  get hasFailed(): boolean {
    return this.#failed;
  }

  fail(): void {
    this.#failed = true;
  }

  /** Steps over `expected` if it comes next. */
  meets(expected: Uint8Array): boolean {
    const at = this.#at;
    if (expected.length > this.#end - at) return false;
    for (let i = 0; i < expected.length; i++) if (this.#bytes[at + i] !== expected[i]) return false;
    this.#at = at + expected.length;
    return true;
  }

  /** A length in one byte of that major type. */
  head(major: number): number {
    const count = this.#byte() - major;
    if (count < 0 || count > MAX_IN_HEAD) this.#failed = true;
    return count;
  }

  flag(): boolean {
    const byte = this.#byte();
    if (byte !== TRUE && byte !== FALSE) this.#failed = true;
    return byte === TRUE;
  }

  count(max: number): number {
    const value = this.#number();
    if (!Number.isSafeInteger(value) || value < 0 || value > max) this.#failed = true;
    return value;
  }

  real(): number {
    const value = this.#number();
    if (!Number.isFinite(value)) this.#failed = true;
    return value;
  }

  /** Of 1 to `maxCharacters` ASCII characters. */
  text(maxCharacters: number): string {
    const length = this.#argument(this.#byte() - TEXT);
    const from = this.#at;
    if (this.#failed || length === 0 || length > maxCharacters || length > this.#end - from) {
      this.#failed = true;
      return '';
    }
    this.#at += length;
    let all = 0;
    for (let i = from; i < this.#at; i++) all |= this.#bytes[i]!;
    if (all >= 0x80) this.#failed = true;
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + from, length).toString('latin1');
  }

  /** Steps over `last` if it comes next. */
  sameAs(last: LastValue): boolean {
    const length = last.lengthAt(this.#bytes, this.#at, this.#end);
    this.#at += length;
    return length > 0;
  }

  keep(last: LastValue, value: unknown, from: number): void {
    last.keep(value, this.#bytes, from, this.#at);
  }

  #number(): number {
    const first = this.#byte();
    return first === FLOAT_64 ? this.#double() : this.#argument(first);
  }

  #double(): number {
    for (let i = 0; i < 8; i++) double.setUint8(i, this.#byte());
    return double.getFloat64(0);
  }

  /** A number of the shortest form or not, up to 2^32 - 1, that begins with `first`. */
  #argument(first: number): number {
    if (first >= 0 && first < IN_1_BYTE) return first;
    if (first === IN_1_BYTE) return this.#byte();
    if (first === IN_2_BYTES) return this.#byte() * 0x100 + this.#byte();
    if (first !== IN_4_BYTES) this.#failed = true;
    return ((this.#byte() << 24) | (this.#byte() << 16) | (this.#byte() << 8) | this.#byte()) >>> 0;
  }

  #byte(): number {
    if (this.#at < this.#end) return this.#bytes[this.#at++]!;
    this.#failed = true;
    return 0;
  }
}
