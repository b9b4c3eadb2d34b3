/**
 * Numbers distinct u64 ids in order of first appearance: open addressing over two u32 halves, so that no BigInt is
 * made. Grows with the ids; its caller bounds them, such as by the bytes of a task.
 */
import { mix32 } from './mix32.ts';

export interface IdDictionary {
  /** The number of the id, given now if it is new. */
  indexOf(low: number, high: number): number;
  readonly size: number;
  /**
   * Halves of the ids by number: low at 2n, high at 2n + 1, that is u64 little-endian. Valid until the next
   * `indexOf`.
   */
  readonly halves: Uint32Array;
}

const FIRST_SLOTS = 1024;

export function createIdDictionary(): IdDictionary {
  let slots = new Int32Array(FIRST_SLOTS).fill(-1);
  let mask = FIRST_SLOTS - 1;
  let halves = new Uint32Array(FIRST_SLOTS);
  let size = 0;

  function grow(): void {
    const wider = new Uint32Array(halves.length * 2);
    wider.set(halves);
    halves = wider;
    slots = new Int32Array(slots.length * 2).fill(-1);
    mask = slots.length - 1;
    for (let index = 0; index < size; index++) {
      let slot = mix(halves[2 * index]!, halves[2 * index + 1]!) & mask;
      while (slots[slot]! >= 0) slot = (slot + 1) & mask;
      slots[slot] = index;
    }
  }

  return {
    indexOf(low, high) {
      let slot = mix(low, high) & mask;
      for (;;) {
        const index = slots[slot]!;
        if (index < 0) break;
        if (halves[2 * index] === low && halves[2 * index + 1] === high) return index;
        slot = (slot + 1) & mask;
      }
      slots[slot] = size;
      halves[2 * size] = low;
      halves[2 * size + 1] = high;
      size++;
      // Half full at most: as many slots as halves, two halves an id.
      if (2 * size >= halves.length) grow();
      return size - 1;
    },
    get size() {
      return size;
    },
    get halves() {
      return halves;
    },
  };
}

/** Over both halves. */
const mix = (low: number, high: number): number => mix32(low ^ Math.imul(high, 0x85ebca6b));
