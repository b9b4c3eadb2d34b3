/**
 * How many different values there are, and whether a value of another file is among them: the smallest hashes of all
 * (Bar-Yossef et al., "Counting distinct elements in a data stream", 2002). Exact until there are more than it keeps.
 */
import { mix32 } from '../../base/mix32.ts';
import { hash32 } from '../hash32.ts';

const HASHES = 2 ** 53;
const LOW = 2 ** 21;
const FIRST_ROOM = 64;

/** 53 bits of two 32-bit halves of a hash. */
const hashOfHalves = (low: number, high: number): number => high * LOW + (low >>> 11);

/** 53 bits of an id of 64 bits, which may be any whole number. */
export const hashOfId = (low: number, high: number): number => hashOfHalves(hash32(low, high, 1), hash32(low, high, 2));

/** 53 bits of a text. */
export function hashOfText(text: string): number {
  let low = 0x811c9dc5;
  let high = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x5bd1e995);
    high ^= high >>> 15;
  }
  return hashOfHalves(mix32(low ^ high), mix32(high));
}

export class DistinctValues {
  readonly #most: number;
  /** Ascending. */
  #hashes = new Float64Array(FIRST_ROOM);
  #count = 0;
  /** Some values are not kept. */
  #isSampled = false;

  /** `most`: hashes that it keeps. */
  constructor(most: number) {
    this.#most = most;
  }

  /** True when it is kept, and was not before. */
  add(hash: number): boolean {
    if (this.#isSampled && hash >= this.#hashes[this.#most - 1]!) return false;
    const place = this.#placeOf(hash);
    if (place < this.#count && this.#hashes[place] === hash) return false;
    if (this.#count === this.#most) this.#isSampled = true;
    else this.#count += 1;
    if (place === this.#most) return false;
    this.#reserve();
    this.#hashes.copyWithin(place + 1, place, this.#count - 1);
    this.#hashes[place] = hash;
    return true;
  }

  get isExact(): boolean {
    return !this.#isSampled;
  }

  get count(): number {
    if (!this.#isSampled) return this.#count;
    // The hashes are spread evenly: this many are below the largest that is kept.
    return Math.round((this.#most - 1) / (this.#hashes[this.#most - 1]! / HASHES));
  }

  /** Whether it is known if there is a value of this hash: of all values, or of a sample of them. */
  covers(hash: number): boolean {
    return !this.#isSampled || hash <= this.#hashes[this.#most - 1]!;
  }

  has(hash: number): boolean {
    const place = this.#placeOf(hash);
    return place < this.#count && this.#hashes[place] === hash;
  }

  /** Place of the smallest hash that is not below `hash`. */
  #placeOf(hash: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#hashes[middle]! < hash) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #reserve(): void {
    if (this.#count <= this.#hashes.length) return;
    const larger = new Float64Array(Math.min(this.#most, 2 * this.#hashes.length));
    larger.set(this.#hashes);
    this.#hashes = larger;
  }
}
