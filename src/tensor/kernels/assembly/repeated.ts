// Ids that come twice in a list. Most pushes have none, and most of the cost of an exact set is in clearing and probing
// it: so a first pass over the ids sets a bit for each, and only those that share a bit are put into a set.
//
// Scratch memory for n ids, with P a power of two of at least 1.5 n: P bytes of bits, P bytes of bits that were set
// twice, and P u32s for the set, which has the place of each id in the list, from 1.

/** Of 8 P bits, or of P places: the high bits of this product. */
@inline function spread(id: u64): u32 {
  return <u32>((id * 0x9e3779b97f4a7c15) >> 32);
}

/** Index of the first id of the list that came before, or -1; `scratch` has 6 bytes for each of 2^`places` places. */
export function repeatedId(ids: usize, n: u32, scratch: usize, places: u32): i32 {
  const bytes = <usize>1 << places;
  const shift = 29 - places;
  const shared = scratch + bytes;
  memory.fill(scratch, 0, 2 * bytes);
  let sharing: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const bit = spread(load<u64>(ids + (i << 3))) >> shift;
    const at = scratch + (bit >> 3);
    const mask = <u32>1 << (bit & 7);
    const before = <u32>load<u8>(at);
    store<u8>(at, <u8>(before | mask));
    if ((before & mask) == 0) continue;
    sharing++;
    const sharedAt = shared + (bit >> 3);
    store<u8>(sharedAt, <u8>(<u32>load<u8>(sharedAt) | mask));
  }
  return sharing == 0 ? -1 : firstEqual(ids, n, scratch, places, min(2 * sharing, n));
}

/** Of the ids that share a bit, so many at most. */
function firstEqual(ids: usize, n: u32, scratch: usize, places: u32, sharing: u32): i32 {
  const bytes = <usize>1 << places;
  const shift = 29 - places;
  const shared = scratch + bytes;
  const set = shared + bytes;
  let log2: u32 = 3;
  while (log2 < places && (<u32>1 << log2) < 2 * sharing) log2++;
  const size = <u32>1 << log2;
  memory.fill(set, 0, <usize>size << 2);
  for (let i: u32 = 0; i < n; i++) {
    const id = load<u64>(ids + (i << 3));
    const hash = spread(id);
    const bit = hash >> shift;
    if (((<u32>load<u8>(shared + (bit >> 3)) >> (bit & 7)) & 1) == 0) continue;
    let slot = hash >> (32 - log2);
    let place = load<u32>(set + (slot << 2));
    while (place != 0) {
      if (load<u64>(ids + ((place - 1) << 3)) == id) return i;
      slot = (slot + 1) & (size - 1);
      place = load<u32>(set + (slot << 2));
    }
    store<u32>(set + (slot << 2), i + 1);
  }
  return -1;
}
