/** Rows in the order of their positions, and back: what goes to one pserver, and what comes from it. */
import { assert } from '../base/assert.ts';
import { type ArrayMemory, memoryOf } from './array-memory.ts';

/**
 * The rows at `positions`, one after the other: what goes to one pserver. `rows` is n × width, and is itself the answer
 * when it has these rows in this order and is not in kernel memory, which is used again while requests may be on their
 * way; else they are put in what `room` returns.
 */
export function gatherRows(
  rows: Float32Array,
  width: number,
  positions: Uint32Array,
  room = (length: number): Float32Array => new Float32Array(length),
): Float32Array {
  const memory = memoryOf(rows);
  const isWhole = positions.length * width === rows.length && isRun(positions, 0);
  if (isWhole && memory === undefined) return rows;
  const gathered = room(positions.length * width);
  if (isRun(positions, positions[0] ?? 0)) {
    const from = (positions[0] ?? 0) * width;
    gathered.set(rows.subarray(from, from + gathered.length));
  } else if (memory !== undefined && width >= KERNEL_WIDTH) {
    gatherInKernel(memory, { rows, width, positions }, gathered);
  } else {
    gatherHere({ rows, width, positions }, gathered);
  }
  return gathered;
}

/** Puts rows that came from one pserver at their positions. `into` is n × width, `rows` positions.length × width. */
export function scatterRows(into: Float32Array, width: number, positions: Uint32Array, rows: Float32Array): void {
  assert(rows.length === positions.length * width, 'there is one row for each position');
  const memory = memoryOf(into);
  if (isRun(positions, positions[0] ?? 0)) into.set(rows, (positions[0] ?? 0) * width);
  else if (memory !== undefined && width >= KERNEL_WIDTH) scatterInKernel(memory, into, { rows, width, positions });
  else scatterHere(into, { rows, width, positions });
}

/** Narrower rows are moved faster here than they are copied to a kernel and back. */
const KERNEL_WIDTH = 4;

interface PlacedRows {
  readonly rows: Float32Array;
  readonly width: number;
  readonly positions: Uint32Array;
}

/** The positions are `first` and those that follow it. */
function isRun(positions: Uint32Array, first: number): boolean {
  for (let at = 0; at < positions.length; at++) if (positions[at] !== first + at) return false;
  return true;
}

const bytesOf = (array: Float32Array | Uint32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Positions are checked here: the kernel trusts them. */
function checkPositions(positions: Uint32Array, rows: number): void {
  let most = 0;
  for (let at = 0; at < positions.length; at++) if (positions[at]! > most) most = positions[at]!;
  assert(positions.length === 0 || most < rows, 'each position is that of a row');
}

function gatherInKernel({ heap }: ArrayMemory, { rows, width, positions }: PlacedRows, gathered: Float32Array): void {
  checkPositions(positions, rows.length / width);
  heap.withInputs([bytesOf(rows), bytesOf(positions)], ([from, places]) => {
    const gather = (to: number): void => heap.kernels.gatherRows(from!, places!, positions.length, width, to);
    if (gathered.buffer === rows.buffer) return gather(gathered.byteOffset);
    heap.withScratch(4 * gathered.length, (to) => {
      gather(to);
      gathered.set(new Float32Array(heap.bytes.buffer, to, gathered.length));
    });
  });
}

function scatterInKernel({ heap }: ArrayMemory, into: Float32Array, { rows, width, positions }: PlacedRows): void {
  checkPositions(positions, into.length / width);
  heap.withInputs([bytesOf(rows), bytesOf(positions)], ([from, places]) =>
    heap.kernels.scatterRows(from!, places!, positions.length, width, into.byteOffset),
  );
}

function gatherHere({ rows, width, positions }: PlacedRows, gathered: Float32Array): void {
  if (width === 1) {
    for (let row = 0; row < positions.length; row++) gathered[row] = rows[positions[row]!]!;
    return;
  }
  let to = 0;
  for (let row = 0; row < positions.length; row++) {
    const from = positions[row]! * width;
    for (let c = 0; c < width; c++) gathered[to++] = rows[from + c]!;
  }
}

function scatterHere(into: Float32Array, { rows, width, positions }: PlacedRows): void {
  if (width === 1) {
    for (let row = 0; row < positions.length; row++) into[positions[row]!] = rows[row]!;
    return;
  }
  let from = 0;
  for (let row = 0; row < positions.length; row++) {
    const to = positions[row]! * width;
    for (let c = 0; c < width; c++) into[to + c] = rows[from++]!;
  }
}
