/** Looks for NaN and infinity in floats wherever they are. */
import { memoryOf } from './array-memory.ts';
import { KernelHeap } from './kernel-heap.ts';

/** Floats outside of kernel memory are copied into it this many at a time: both copies stay in the cache. */
const PIECE_FLOATS = 16 * 1024;

let pieces: { readonly heap: KernelHeap; readonly address: number } | undefined;

export function areFinite(floats: Float32Array): boolean {
  const memory = memoryOf(floats);
  if (memory !== undefined) return memory.heap.firstNotFinite(floats.byteOffset, floats.length) < 0;
  if (pieces === undefined) {
    const heap = new KernelHeap(4 * 1024 * 1024);
    pieces = { heap, address: heap.allocate(4 * PIECE_FLOATS) };
  }
  const { heap, address } = pieces;
  for (let from = 0; from < floats.length; from += PIECE_FLOATS) {
    const piece = floats.subarray(from, from + PIECE_FLOATS);
    new Float32Array(heap.bytes.buffer, address, piece.length).set(piece);
    if (heap.firstNotFinite(address, piece.length) >= 0) return false;
  }
  return true;
}
