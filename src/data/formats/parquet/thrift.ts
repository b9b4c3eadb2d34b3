/**
 * Bounds what hyparquet is given to decode. Its thrift reader believes sizes of lists before it allocates them, and
 * numbers of any length: a struct is walked here first, without keeping anything.
 */
import { LIMITS } from '../../../base/limits.ts';
import { Fault } from './fault.ts';

const TYPE = { true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, struct: 12 } as const;
const LONG_LIST = 15;
const VARINT_BYTES = 10;
const LENGTH_BYTES = 5;

/** Where the struct that begins at `at` ends, in thrift's compact protocol. Throws a `Fault`. */
export function endOfStruct(bytes: Uint8Array, at: number): number {
  const walk = new Walk(bytes, at);
  walk.struct(0);
  return walk.at;
}

class Walk {
  readonly #bytes: Uint8Array;
  at: number;
  #values = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  struct(depth: number): void {
    if (depth > LIMITS.parquetDepth) throw new Fault('its structs are nested too deeply');
    for (;;) {
      const head = this.#byte();
      if ((head & 15) === 0) return;
      if (head >> 4 === 0) this.#varint(VARINT_BYTES);
      this.#value(head & 15, depth);
    }
  }

  #value(type: number, depth: number): void {
    this.#values += 1;
    if (this.#values > LIMITS.parquetFooterValues) throw new Fault('it has too many values');
    switch (type) {
      case TYPE.true:
      case TYPE.false:
        return;
      case TYPE.byte:
        this.#skip(1);
        return;
      case TYPE.i16:
      case TYPE.i32:
      case TYPE.i64:
        this.#varint(VARINT_BYTES);
        return;
      case TYPE.double:
        this.#skip(8);
        return;
      case TYPE.binary:
        this.#skip(this.#varint(LENGTH_BYTES));
        return;
      case TYPE.list:
        this.#list(depth + 1);
        return;
      case TYPE.struct:
        this.struct(depth + 1);
        return;
      default:
        throw new Fault(`it has a value of the unknown type ${type}`);
    }
  }

  #list(depth: number): void {
    if (depth > LIMITS.parquetDepth) throw new Fault('its lists are nested too deeply');
    const head = this.#byte();
    const size = head >> 4 === LONG_LIST ? this.#varint(LENGTH_BYTES) : head >> 4;
    const type = head & 15;
    // Each takes a byte at least.
    if (size > this.#bytes.length - this.at) throw new Fault('a list is longer than what is left');
    const isBoolean = type === TYPE.true || type === TYPE.false;
    for (let number = 0; number < size; number++) this.#value(isBoolean ? TYPE.byte : type, depth);
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Fault('it ends too early');
    this.at += 1;
    return byte;
  }

  #varint(most: number): number {
    let value = 0;
    for (let number = 0; number < most; number++) {
      const byte = this.#byte();
      value += (byte & 127) * 2 ** (7 * number);
      if (byte < 128) return value;
    }
    throw new Fault('a number does not end');
  }

  #skip(count: number): void {
    if (count > this.#bytes.length - this.at) throw new Fault('it ends too early');
    this.at += count;
  }
}
