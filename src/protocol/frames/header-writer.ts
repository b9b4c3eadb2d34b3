/**
 * Writes the headers of hot messages straight to where they are sent from, field by field as their table says. The bytes
 * are those that the library (`cbor.ts`) makes of the same fields in this order; tests compare them. Headers that have
 * anything unusual are left to the library.
 */
import type { FrameKind } from './frame-kind.ts';
import {
  ARRAY,
  FALSE,
  FLOAT_64,
  type HeaderLayout,
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
import { isPlainMap, type PlainMap, sizeOf } from './plain-map.ts';

/**
 * Writes a header from `at` on and returns where it ends; undefined, with anything behind `at`, when the library has to
 * write it or `into` is too short.
 */
export function writeHotHeader(kind: FrameKind, header: unknown, into: Uint8Array, at: number): number | undefined {
  if (!isPlainMap(header)) return undefined;
  const layout = layoutOf(kind, header.type);
  if (layout === undefined) return undefined;
  const pen = new Pen(into, at);
  const pairs = sizeOf(header);
  pen.head(MAP, pairs);
  pen.bytes(layout.opening);
  writeValues(pen, header, layout.slots, pairs - 1);
  return pen.end;
}

function layoutOf(kind: FrameKind, type: unknown): HeaderLayout | undefined {
  for (const layout of LAYOUTS[kind]) if (layout.type === type) return layout;
  return undefined;
}

function writeMap(pen: Pen, value: unknown, slots: readonly Slot[]): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const pairs = sizeOf(value);
  pen.head(MAP, pairs);
  writeValues(pen, value, slots, pairs);
}

/** Fails unless the map has exactly so many of the slots' fields. */
function writeValues(pen: Pen, values: PlainMap, slots: readonly Slot[], pairs: number): void {
  let written = 0;
  for (const slot of slots) {
    const value = values[slot.name];
    if (value === undefined && slot.isOptional) continue;
    pen.bytes(slot.key);
    writeValue(pen, value, slot);
    written++;
  }
  if (written !== pairs) pen.fail();
}

function writeValue(pen: Pen, value: unknown, slot: Slot): void {
  switch (slot.kind) {
    case 'count':
    case 'real':
      pen.number(value);
      break;
    case 'text':
    case 'decimal':
      pen.text(value, slot.max);
      break;
    case 'flag':
      pen.flag(value);
      break;
    case 'choice':
      pen.bytes(slot.choiceTexts[slot.choices.indexOf(value as string)]);
      break;
    case 'map':
      writeMap(pen, value, slot.slots);
      break;
    case 'list':
      writeList(pen, value, slot.slots);
  }
}

function writeList(pen: Pen, value: unknown, slots: readonly Slot[]): void {
  if (!Array.isArray(value)) {
    pen.fail();
    return;
  }
  pen.head(ARRAY, value.length);
  for (const item of value) writeMap(pen, item, slots);
}

const double = new DataView(new ArrayBuffer(8));

/** Once something does not fit, or is not for here, all that follows is written in vain. */
class Pen {
  readonly #into: Uint8Array;
  #at: number;
  #failed = false;

  constructor(into: Uint8Array, at: number) {
    this.#into = into;
    this.#at = at;
  }

  get end(): number | undefined {
    return this.#failed || this.#at > this.#into.length ? undefined : this.#at;
  }

  fail(): void {
    this.#failed = true;
  }

  /** Writing behind the end of an array changes nothing, and `end` sees it. */
  byte(value: number): void {
    this.#into[this.#at++] = value;
  }

  bytes(values: Uint8Array | undefined): void {
    if (values === undefined) {
      this.#failed = true;
      return;
    }
    const into = this.#into;
    const at = this.#at;
    for (let i = 0; i < values.length; i++) into[at + i] = values[i]!;
    this.#at = at + values.length;
  }

  /** The first byte of a map or an array. */
  head(major: number, items: number): void {
    if (items > MAX_IN_HEAD) this.#failed = true;
    this.byte(major + items);
  }

  flag(value: unknown): void {
    if (typeof value !== 'boolean') this.#failed = true;
    this.byte(value === true ? TRUE : FALSE);
  }

  /** Whole numbers up to 32 bits in the shortest form, all others as doubles. Negative ones are not for here. */
  number(value: unknown): void {
    if (typeof value !== 'number') {
      this.#failed = true;
    } else if (value >>> 0 === value) {
      this.#argument(0, value);
    } else {
      if (value < 0) this.#failed = true;
      double.setFloat64(0, value);
      this.byte(FLOAT_64);
      for (let i = 0; i < 8; i++) this.byte(double.getUint8(i));
    }
  }

  /** ASCII only. */
  text(value: unknown, maxCharacters: number): void {
    if (typeof value !== 'string' || value.length > maxCharacters) {
      this.#failed = true;
      return;
    }
    this.#argument(TEXT, value.length);
    const into = this.#into;
    const at = this.#at;
    let all = 0;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      all |= code;
      into[at + i] = code;
    }
    this.#at = at + value.length;
    if (all >= 0x80) this.#failed = true;
  }

  /** In the shortest form. */
  #argument(major: number, value: number): void {
    if (value < IN_1_BYTE) {
      this.byte(major + value);
    } else if (value < 0x100) {
      this.byte(major + IN_1_BYTE);
      this.byte(value);
    } else if (value < 0x1_0000) {
      this.byte(major + IN_2_BYTES);
      this.byte(value >>> 8);
      this.byte(value & 0xff);
    } else {
      this.byte(major + IN_4_BYTES);
      for (let shift = 24; shift >= 0; shift -= 8) this.byte((value >>> shift) & 0xff);
    }
  }
}
