/** Ids of many values at once, by the kernel. All calls are synchronous. */
import { FRAME_AT, KernelInstance, roundUp } from './instance.ts';

/** Values, and bytes of texts, that are in its memory at a time. */
const BATCH_VALUES = 1 << 16;
const BATCH_BYTES = 1 << 20;
/** What may be read behind a text. */
const BEHIND_BYTES = 16;

let shared: KernelInstance | undefined;

function kernelWith(bytes: number): KernelInstance {
  shared ??= new KernelInstance();
  shared.reserve(FRAME_AT + bytes);
  return shared;
}

export interface TextsToHash {
  readonly bytes: Uint8Array;
  /** For each text, where it is in `bytes`; others may be in between. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** The id of each text, in u32 halves: as `categoryId`. */
export function idsOfTexts({ bytes, starts, ends }: TextsToHash, seed: bigint, buckets = 0): Uint32Array {
  const ids = new Uint32Array(2 * starts.length);
  for (let from = 0; from < starts.length; ) {
    const { to, low, high } = batchFrom(from, starts, ends);
    const count = to - from;
    const textsAt = roundUp(FRAME_AT + 16 * count);
    const { buffer, kernels } = kernelWith(textsAt - FRAME_AT + high - low + BEHIND_BYTES);
    const [startsAt, endsAt] = [FRAME_AT + 8 * count, FRAME_AT + 12 * count];
    new Uint8Array(buffer).set(bytes.subarray(low, high), textsAt);
    new Uint32Array(buffer, startsAt, count).set(starts.subarray(from, to));
    new Uint32Array(buffer, endsAt, count).set(ends.subarray(from, to));
    // Where the first byte would be if those before were there.
    kernels.hashSpans(textsAt - low, startsAt, endsAt, count, seed, BigInt(buckets), FRAME_AT);
    ids.set(new Uint32Array(buffer, FRAME_AT, 2 * count), 2 * from);
    from = to;
  }
  return ids;
}

/** Texts that fit into the memory at a time, and the bytes that they are in. */
function batchFrom(from: number, starts: Uint32Array, ends: Uint32Array) {
  const most = Math.min(starts.length, from + BATCH_VALUES);
  let low = 0;
  let high = 0;
  let to = from;
  for (; to < most; to++) {
    const start = starts[to]!;
    const end = ends[to]!;
    // An empty text is anywhere: nothing of it is read.
    if (start === end) continue;
    const first = high === 0 || start < low ? start : low;
    const last = end > high ? end : high;
    if (high > 0 && last - first > BATCH_BYTES) break;
    low = first;
    high = last;
  }
  return { to, low, high };
}

/** The id of each whole number's decimal text, in u32 halves. */
export function idsOfWholes(numbers: BigInt64Array | BigUint64Array, seed: bigint, buckets = 0): Uint32Array {
  const ids = new Uint32Array(2 * numbers.length);
  const isSigned = numbers instanceof BigInt64Array ? 1 : 0;
  const { buffer, kernels } = kernelWith(16 * Math.min(numbers.length, BATCH_VALUES));
  for (let from = 0; from < numbers.length; from += BATCH_VALUES) {
    const batch = numbers.subarray(from, from + BATCH_VALUES);
    const numbersAt = FRAME_AT + 8 * batch.length;
    new Uint8Array(buffer).set(new Uint8Array(batch.buffer, batch.byteOffset, batch.byteLength), numbersAt);
    kernels.hashWholes(numbersAt, batch.length, isSigned, seed, BigInt(buckets), FRAME_AT);
    ids.set(new Uint32Array(buffer, FRAME_AT, 2 * batch.length), 2 * from);
  }
  return ids;
}
