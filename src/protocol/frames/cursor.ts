/** Reads the CBOR of a header whose fields are known, and checks it: numbers may have any of their forms. */
import { LIMITS } from '../../base/limits.ts';
import { DECIMAL } from '../messages/field-table.ts';
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
import type { LastText } from './last-text.ts';

const double = new DataView(new ArrayBuffer(8));

/** Goes through a header. After something unexpected it never comes to the end, and what it returned is of no use. */
export class Cursor {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;
  #failed = false;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
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

  /** Steps over the key that has to come next. */
  key(expected: Uint8Array): void {
    if (!this.meets(expected)) this.#failed = true;
  }

  /** Begins a map; returns the number of its pairs. */
  openMap(): number {
    return this.#head(MAP);
  }

  /** Begins an array; returns the number of its items, at most `max`. */
  openList(max: number): number {
    const items = this.#head(ARRAY);
    if (items > max) this.#failed = true;
    return items;
  }

  expect(holds: boolean): void {
    if (!holds) this.#failed = true;
  }

  choice(among: readonly Choice[]): string | undefined {
    for (const { text, bytes } of among) if (this.meets(bytes)) return text;
    this.#failed = true;
    return undefined;
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

  /** Above 0, at most 1. */
  share(): number {
    const value = this.#number();
    if (!(value > 0 && value <= 1)) this.#failed = true;
    return value;
  }

  counts(maxItems: number, max: number): number[] {
    const list: number[] = [];
    const items = this.openList(maxItems);
    for (let i = 0; i < items && !this.#failed; i++) list.push(this.count(max));
    return list;
  }

  /**
   * A text of 1 to `maxCharacters` ASCII characters; `last` is the text last read in this place, to be reused if equal.
   */
  text(maxCharacters: number, last: LastText): string {
    const length = this.#argument(this.#byte() - TEXT);
    if (this.#failed || length === 0 || length > maxCharacters || length > this.#end - this.#at) {
      this.#failed = true;
      return '';
    }
    const text = last.read(this.#bytes, this.#at, length);
    this.#at += length;
    if (text === undefined) this.#failed = true;
    return text ?? '';
  }

  decimal(last: LastText): string {
    const digits = this.text(LIMITS.decimalDigits, last);
    if (!DECIMAL.test(digits)) this.#failed = true;
    return digits;
  }

  #head(major: number): number {
    const count = this.#byte() - major;
    if (count < 0 || count > LAST_IN_HEAD) this.#failed = true;
    return count;
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
