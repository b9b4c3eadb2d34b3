// The allocator of kernel memory: two-level segregated fit (Masmano, Ripoll, Crespo & Real 2004). Constant time, free
// neighbors are merged at once, and a failed allocation answers 0 and changes nothing.
//
// A block at address b (b % 16 == 8):
//   u32 address of the block before it in memory, 0 for the first
//   u32 size of the whole block, a multiple of 16; bit 0: free
//   payload, 16-byte aligned; in a free block: u32 next free, u32 previous free
// A block of size 0 ends the heap.

const HEADER: u32 = 8;
const FREE: u32 = 1;
const SPLITS_LOG2: u32 = 4;
const SPLITS: u32 = 1 << SPLITS_LOG2;
/** Leaves room to round up within 32 bits. */
const MAX_PAYLOAD: u32 = 0xefff0000;
const GROWTH_PAGES_MAX: u32 = 256;

const heads: usize = memory.data(32 * 16 * 4);
const splitMaps: usize = memory.data(32 * 4);
let sizeMap: u32 = 0;
let endBlock: u32 = 0;
let inUse: u32 = 0;

@inline function sizeOf(block: u32): u32 {
  return load<u32>(block, 4) & ~FREE;
}

@inline function isFree(block: u32): bool {
  return (load<u32>(block, 4) & FREE) != 0;
}

@inline function listOf(first: u32, second: u32): usize {
  return heads + (((first << SPLITS_LOG2) + second) << 2);
}

function insertFree(block: u32, size: u32): void {
  const first = 31 - clz(size);
  const second = (size >> (first - SPLITS_LOG2)) & (SPLITS - 1);
  const list = listOf(first, second);
  const head = load<u32>(list);
  store<u32>(block, size | FREE, 4);
  store<u32>(block, head, 8);
  store<u32>(block, 0, 12);
  if (head != 0) store<u32>(head, block, 12);
  store<u32>(list, block);
  const map = splitMaps + (first << 2);
  store<u32>(map, load<u32>(map) | (1 << second));
  sizeMap |= 1 << first;
}

function removeFree(block: u32): void {
  const size = sizeOf(block);
  const next = load<u32>(block, 8);
  const previous = load<u32>(block, 12);
  if (next != 0) store<u32>(next, previous, 12);
  if (previous != 0) {
    store<u32>(previous, next, 8);
    return;
  }
  const first = 31 - clz(size);
  const second = (size >> (first - SPLITS_LOG2)) & (SPLITS - 1);
  store<u32>(listOf(first, second), next);
  if (next != 0) return;
  const map = splitMaps + (first << 2);
  const left = load<u32>(map) & ~(1 << second);
  store<u32>(map, left);
  if (left == 0) sizeMap &= ~(1 << first);
}

/** Marks a block free and merges it with free neighbors. */
function release(block: u32): void {
  let size = sizeOf(block);
  const after = block + size;
  if (isFree(after)) {
    removeFree(after);
    size += sizeOf(after);
  }
  const before = load<u32>(block);
  if (before != 0 && isFree(before)) {
    removeFree(before);
    size += sizeOf(before);
    block = before;
  }
  store<u32>(block + size, block);
  insertFree(block, size);
}

/** Rounded up to a size from which on every block of the list is large enough. */
@inline function searchSize(size: u32): u32 {
  return size + (1 << (31 - clz(size) - SPLITS_LOG2)) - 1;
}

function findFree(size: u32): u32 {
  const wanted = searchSize(size);
  let first = 31 - clz(wanted);
  const second = (wanted >> (first - SPLITS_LOG2)) & (SPLITS - 1);
  let map = load<u32>(splitMaps + (first << 2)) & (~0 << second);
  if (map == 0) {
    const larger = first == 31 ? 0 : sizeMap & (~0 << (first + 1));
    if (larger == 0) return 0;
    first = ctz(larger);
    map = load<u32>(splitMaps + (first << 2));
  }
  return load<u32>(listOf(first, ctz(map)));
}

function start(): void {
  const first = (((<u32>__heap_base) + 15) & ~15) + 8;
  const end = <u32>memory.size() * 65536 - 8;
  store<u32>(first, 0);
  store<u32>(first, end - first, 4);
  store<u32>(end, first);
  store<u32>(end, 0, 4);
  endBlock = end;
  insertFree(first, end - first);
}

/** Tells the owner of the memory, before anything else happens, that its views have ended. */
// @ts-ignore: decorator
@external('env', 'grown')
declare function grown(): void;

/** Grows the memory so that a block of `size` bytes can be found; false at the memory's bound. */
function growFor(size: u32): bool {
  const last = load<u32>(endBlock);
  const trailing = last != 0 && isFree(last) ? sizeOf(last) : 0;
  const wanted = searchSize(size);
  const missing = wanted > trailing ? wanted - trailing : 1;
  const needed = (missing + 65535) >> 16;
  const pages = <u32>memory.size();
  const generous = max(needed, min(pages >> 3, GROWTH_PAGES_MAX));
  if (memory.grow(generous) < 0 && (generous == needed || memory.grow(needed) < 0)) return false;
  grown();
  const block = endBlock;
  const end = <u32>memory.size() * 65536 - 8;
  store<u32>(block, end - block, 4);
  store<u32>(end, 0, 4);
  endBlock = end;
  release(block);
  return true;
}

/** Address of `bytes` bytes, 16-byte aligned, with any content; 0 when there is no room. */
export function allocate(bytes: u32): u32 {
  if (endBlock == 0) start();
  if (bytes > MAX_PAYLOAD) return 0;
  const size = max<u32>(16, (bytes + HEADER + 15) & ~15);
  let block = findFree(size);
  if (block == 0) {
    if (!growFor(size)) return 0;
    block = findFree(size);
  }
  removeFree(block);
  const whole = sizeOf(block);
  if (whole - size >= 32) {
    store<u32>(block, size, 4);
    const rest = block + size;
    store<u32>(rest, block);
    store<u32>(rest + (whole - size), rest);
    insertFree(rest, whole - size);
    inUse += size;
  } else {
    store<u32>(block, whole, 4);
    inUse += whole;
  }
  return block + HEADER;
}

/** Gives back what `allocate` returned. */
export function deallocate(address: u32): void {
  const block = address - HEADER;
  inUse -= sizeOf(block);
  release(block);
}

/** Bytes handed out, with their headers. */
export function allocatedBytes(): u32 {
  return inUse;
}
