/** The keys of JSON objects in the memory of the kernel, with a table that finds them by their text. */
import { hash64 } from '../../columns/hash.ts';
import { FRAME } from './kernel-frame.ts';
import { FIELD_BYTES, KEY_WORDS, type PlanPlaces } from './kernel-places.ts';
import type { ObjectKey } from './plan.ts';

/** Places of the fields of `Key` in `assembly/frame.ts`, as indexes of u32. */
const KEY = { parent: 0, from: 1, length: 2, field: 3 } as const;

export function writeKeys(
  keys: readonly ObjectKey[],
  places: PlanPlaces,
  buffer: ArrayBuffer,
  frame: Uint32Array,
): void {
  const words = new Uint32Array(buffer, places.keys, KEY_WORDS * (keys.length + 1)).fill(0);
  const table = new Uint32Array(buffer, places.keyTable, places.keyPlaces).fill(0);
  const bytes = new Uint8Array(buffer);
  const mask = places.keyPlaces - 1;
  const addressOf = (key: number): number => places.keys + 4 * KEY_WORDS * key;
  let at = places.keyTexts;
  keys.forEach(({ parent, text, field }, key) => {
    bytes.set(text, at);
    const entry = KEY_WORDS * (key + 1);
    words[entry + KEY.parent] = addressOf(parent);
    words[entry + KEY.from] = at;
    words[entry + KEY.length] = text.length;
    words[entry + KEY.field] = field === undefined ? 0 : places.fields + FIELD_BYTES * field;
    let place = Number(hash64(text, BigInt(addressOf(parent))) & BigInt(mask));
    while (table[place] !== 0) place = (place + 1) & mask;
    table[place] = addressOf(key + 1);
    at += text.length;
  });
  frame[FRAME.keys] = places.keys;
  frame[FRAME.keyCount] = keys.length + 1;
  frame[FRAME.keyPlaces] = places.keyTable;
  frame[FRAME.keyMask] = mask;
  frame[FRAME.leafCount] = keys.filter(({ field }) => field !== undefined).length;
  frame[FRAME.stamp] = 0;
}
