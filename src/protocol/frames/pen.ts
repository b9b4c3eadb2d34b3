/** Writes the CBOR of a header whose fields are known, as the library (`cbor.ts`) writes it. */
import {
  ARRAY,
  type Choice,
  FALSE,
  FLOAT_64,
  IN_1_BYTE,
  IN_2_BYTES,
  IN_4_BYTES,
  LAST_IN_HEAD,
  MAP,
  TEXT,
  TRUE,
} from './header-bytes.ts';

/** A map as CBOR has it: an ordinary object. */
export type PlainMap = Readonly<Record<string, unknown>>;

export const isPlainMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function sizeOf(map: PlainMap): number {
  let size = 0;
  for (const _ in map) size++;
  return size;
}

const double = new DataView(new ArrayBuffer(8));

/** Once something does not fit, or is not for here, all that follows is written in vain. */
export class Pen {
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

  bytes(values: Uint8Array): void {
    const into = this.#into;
    const at = this.#at;
    for (let i = 0; i < values.length; i++) into[at + i] = values[i]!;
    this.#at = at + values.length;
  }

  /** Begins a map, which must have exactly `pairs` keys. */
  openMap(value: PlainMap, pairs: number): void {
    if (sizeOf(value) !== pairs) this.#failed = true;
    this.#head(MAP, pairs);
  }

  /** Begins an array of `items` items. */
  openList(items: number): void {
    this.#head(ARRAY, items);
  }

  choice(value: unknown, among: readonly Choice[]): void {
    for (const { text, bytes } of among) {
      if (text !== value) continue;
      this.bytes(bytes);
      return;
    }
    this.#failed = true;
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

  counts(values: unknown): void {
    if (!Array.isArray(values)) {
      this.#failed = true;
      return;
    }
    this.openList(values.length);
    for (const value of values) this.number(value);
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

  #head(major: number, items: number): void {
    if (items > LAST_IN_HEAD) this.#failed = true;
    this.byte(major + items);
  }

  /** Writes the argument in its shortest form. */
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
