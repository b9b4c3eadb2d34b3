/**
 * Free memory of the records of tasks. The engine collects all of its garbage whenever some 10 MB of new arrays were
 * made. That cost a trainer of images more than all that it does with the pservers, and a trainer of click logs a fifth
 * of its time.
 */
import { LIMITS } from '../base/limits.ts';

/** New memory of fewer bytes costs little. */
const LEAST_BYTES = 64 * 1024;

/** What was given back last comes last. */
const spare: ArrayBuffer[] = [];
let spareBytes = 0;

/** At least `bytes` bytes, whose content is anything. */
export function takeMemory(bytes: number): ArrayBuffer {
  const at = spare.findLastIndex(({ byteLength }) => byteLength >= bytes && byteLength <= 2 * bytes);
  if (at < 0) return new ArrayBuffer(bytes);
  const [memory] = spare.splice(at, 1);
  spareBytes -= memory!.byteLength;
  return memory!;
}

interface ArrayType<A> {
  new (memory: ArrayBuffer, byteOffset: number, length: number): A;
  readonly BYTES_PER_ELEMENT: number;
}

/** An array of that length, whose content is anything. */
export const takeArray = <A>(type: ArrayType<A>, length: number): A =>
  new type(takeMemory(type.BYTES_PER_ELEMENT * length), 0, length);

/** The memory is of no one else. */
export function giveBack(memory: ArrayBuffer): void {
  if (memory.byteLength < LEAST_BYTES) return;
  spare.push(memory);
  spareBytes += memory.byteLength;
  while (spareBytes > LIMITS.spareMemoryBytes) spareBytes -= spare.shift()!.byteLength;
}

/** Memory for the bytes that a reader has at a time, until it is closed. */
export class SpareRoom {
  #memory = new ArrayBuffer(0);

  /** Ends the view of the call before. A view contains old values. */
  readonly take = (bytes: number): Uint8Array<ArrayBuffer> => {
    if (this.#memory.byteLength < bytes) {
      giveBack(this.#memory);
      this.#memory = takeMemory(bytes);
    }
    return new Uint8Array(this.#memory, 0, bytes);
  };

  close(): void {
    giveBack(this.#memory);
    this.#memory = new ArrayBuffer(0);
  }
}
