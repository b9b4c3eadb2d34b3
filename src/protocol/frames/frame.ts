/**
 * The frame inside one binary WebSocket message (docs/protocol.md has the offsets). All integers little-endian:
 *
 *   0  magic 'PDLT'   4  version   5  kind   6  reserved (0)   8  request id   12  header length   16  segment count
 *   20 frame length   24 segment lengths, u32 each   then the CBOR header, zeros to the next multiple of 8,
 *   then the segments, each followed by zeros to the next multiple of 8.
 *
 * Segments therefore begin at multiples of 8 in the frame and, because the part before them is a multiple of 8 too, in
 * the memory that they land in. Every length and count is compared with its limit and with the bytes that came before
 * anything is allocated for it. Errors: `BadFrame` and `FrameTooLarge`, whose `details.field` names the field.
 */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { decodeCbor, encodeCbor } from './cbor.ts';
import { type FrameKind, KIND } from './frame-kind.ts';
import { readHotHeader, writeHotHeader } from './hot-headers.ts';

export const FRAME_VERSION = 3;
export const PREAMBLE_BYTES = 24;

const MAGIC = 0x544c_4450; // 'PDLT' read as little-endian u32
const KIND_NAMES: Readonly<Record<number, FrameKind>> = {
  1: 'request',
  2: 'reply',
  3: 'error',
  4: 'join',
};

export interface FrameLimits {
  readonly frameBytes: number;
  readonly frameHeaderBytes: number;
  readonly frameSegments: number;
}

export interface Frame {
  readonly kind: FrameKind;
  /** u32; 0 is for frames of joining, and for errors that concern the connection and no request. */
  readonly requestId: number;
  readonly header: unknown;
  readonly segments: readonly Uint8Array[];
}

/** The fixed part, checked against the limits. */
export interface Preamble {
  readonly kind: FrameKind;
  readonly requestId: number;
  readonly headerBytes: number;
  readonly segmentCount: number;
  readonly frameBytes: number;
  /** Where the first segment begins: what has to be read before the payload can land. */
  readonly payloadAt: number;
}

/** Everything before the payload. */
export interface FrameHead {
  readonly preamble: Preamble;
  readonly header: unknown;
  /** The header is a valid one of a hot message. */
  readonly isChecked: boolean;
  readonly segmentLengths: readonly number[];
  /** Offset of each segment from the start of the payload; multiples of 8. */
  readonly segmentOffsets: readonly number[];
  readonly payloadBytes: number;
}

export const padded = (byteLength: number): number => Math.ceil(byteLength / 8) * 8;
const ZEROS = new Uint8Array(8);

/**
 * The frame as buffers to be sent one after the other; segments are passed through, never copied. Returns their total
 * too. Throws `FrameTooLarge` when a limit does not allow the frame.
 */
export function encodeFrame(frame: Frame, limits: FrameLimits = LIMITS): { buffers: Uint8Array[]; byteLength: number } {
  const count = frame.segments.length;
  within('segment count', count, limits.frameSegments);
  const headerAt = PREAMBLE_BYTES + 4 * count;
  const { head, headerBytes } = hotHead(frame, headerAt, limits) ?? libraryHead(frame.header, headerAt, limits);
  let byteLength = head.length;
  for (const segment of frame.segments) byteLength += padded(segment.byteLength);
  within('frame length', byteLength, limits.frameBytes);

  head.writeUInt32LE(MAGIC, 0);
  head[4] = FRAME_VERSION;
  head[5] = KIND[frame.kind];
  head[6] = 0;
  head[7] = 0;
  head.writeUInt32LE(frame.requestId, 8);
  head.writeUInt32LE(headerBytes, 12);
  head.writeUInt32LE(count, 16);
  head.writeUInt32LE(byteLength, 20);
  const buffers: Uint8Array[] = [head];
  for (let i = 0; i < count; i++) {
    const segment = frame.segments[i]!;
    head.writeUInt32LE(segment.byteLength, PREAMBLE_BYTES + 4 * i);
    if (segment.byteLength > 0) buffers.push(segment);
    const padding = padded(segment.byteLength) - segment.byteLength;
    if (padding > 0) buffers.push(ZEROS.subarray(0, padding));
  }
  for (let at = headerAt + headerBytes; at < head.length; at++) head[at] = 0;
  return { buffers, byteLength };
}

/** Memory for everything before the payload. The header is at its place; all else is yet to be written. */
interface Head {
  readonly head: Buffer;
  readonly headerBytes: number;
}

const HEAD_SLAB_BYTES = 64 * 1024;
const MAX_SLAB_HEAD_BYTES = HEAD_SLAB_BYTES / 8;
/** Small heads are cut from it: separate memory would cost more than everything else that is done for a small frame. */
let headSlab = Buffer.alloc(0);
let headSlabUsed = 0;

/** The head of a hot message, written where it is sent from, if there is room left there. */
function hotHead({ kind, header }: Frame, headerAt: number, limits: FrameLimits): Head | undefined {
  if (headerAt > MAX_SLAB_HEAD_BYTES / 2) return undefined;
  const end = writeHotHeader(kind, header, headSlab, headSlabUsed + headerAt);
  if (end === undefined) return undefined;
  const headerBytes = end - headerAt - headSlabUsed;
  within('header length', headerBytes, limits.frameHeaderBytes);
  const payloadAt = padded(headerAt + headerBytes);
  const isInSlab = payloadAt <= MAX_SLAB_HEAD_BYTES && headSlabUsed + payloadAt <= headSlab.length;
  return isInSlab ? { head: newHead(payloadAt), headerBytes } : undefined;
}

function libraryHead(header: unknown, headerAt: number, limits: FrameLimits): Head {
  const encoded = encodeCbor(header);
  within('header length', encoded.length, limits.frameHeaderBytes);
  const head = newHead(padded(headerAt + encoded.length));
  head.set(encoded, headerAt);
  return { head, headerBytes: encoded.length };
}

/** Not initialized: what was written behind the used part of the slab is still there. */
function newHead(byteLength: number): Buffer {
  if (byteLength > MAX_SLAB_HEAD_BYTES) return Buffer.allocUnsafeSlow(byteLength);
  if (headSlabUsed + byteLength > headSlab.length) {
    headSlab = Buffer.allocUnsafeSlow(HEAD_SLAB_BYTES);
    headSlabUsed = 0;
  }
  const head = headSlab.subarray(headSlabUsed, headSlabUsed + byteLength);
  headSlabUsed += byteLength;
  return head;
}

/** Little-endian. A view made for a few reads costs more than they do. */
const u32At = (bytes: Uint8Array, at: number): number =>
  (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;

/** Reads and checks the first 24 bytes. */
export function decodePreamble(bytes: Uint8Array, limits: FrameLimits = LIMITS): Preamble {
  if (bytes.length < PREAMBLE_BYTES)
    throw bad('frame length', `expected at least a preamble, got ${bytes.length} bytes`);
  if (u32At(bytes, 0) !== MAGIC) throw bad('magic', 'not a paddlet frame');
  const version = bytes[4]!;
  if (version !== FRAME_VERSION)
    throw bad('version', `expected version ${FRAME_VERSION}, got version ${version} from the peer`);
  const requestId = u32At(bytes, 8);
  const kind = KIND_NAMES[bytes[5]!];
  if (kind === undefined) throw bad('kind', `kind ${bytes[5]} is unknown`, requestId);
  if (requestId === 0 && (kind === 'request' || kind === 'reply')) {
    throw bad('request id', `0 is not of a ${kind}`, requestId);
  }
  if ((bytes[6]! | bytes[7]!) !== 0) throw bad('reserved', 'reserved bytes are not zero', requestId);
  const headerBytes = u32At(bytes, 12);
  const segmentCount = u32At(bytes, 16);
  const frameBytes = u32At(bytes, 20);
  within('header length', headerBytes, limits.frameHeaderBytes, requestId);
  within('segment count', segmentCount, limits.frameSegments, requestId);
  within('frame length', frameBytes, limits.frameBytes, requestId);
  const payloadAt = padded(PREAMBLE_BYTES + 4 * segmentCount + headerBytes);
  if (payloadAt > frameBytes) throw bad('frame length', `${frameBytes} bytes do not hold the header`, requestId);
  return { kind, requestId, headerBytes, segmentCount, frameBytes, payloadAt };
}

/** Reads everything before the payload; `bytes` are the first `preamble.payloadAt` bytes of the frame. */
export function decodeHead(preamble: Preamble, bytes: Uint8Array): FrameHead {
  const { kind, segmentCount, headerBytes, requestId, payloadAt, frameBytes } = preamble;
  const segmentLengths: number[] = [];
  const segmentOffsets: number[] = [];
  const payloadBytes = frameBytes - payloadAt;
  let offset = 0;
  for (let i = 0; i < segmentCount; i++) {
    const length = u32At(bytes, PREAMBLE_BYTES + 4 * i);
    segmentLengths.push(length);
    segmentOffsets.push(offset);
    offset += padded(length);
    if (offset > payloadBytes) throw bad(`segment ${i}`, `${length} bytes run past the end of the frame`, requestId);
  }
  if (offset !== payloadBytes) {
    throw bad('frame length', `${payloadBytes - offset} bytes follow the last segment`, requestId);
  }
  const headerAt = PREAMBLE_BYTES + 4 * segmentCount;
  requireZeros(bytes, headerAt + headerBytes, payloadAt, 'padding of the header', requestId);
  const headerEnd = headerAt + headerBytes;
  const hot = readHotHeader(kind, bytes, headerAt, headerEnd);
  const header = hot ?? libraryHeader(bytes.subarray(headerAt, headerEnd), requestId);
  return { preamble, header, isChecked: hot !== undefined, segmentLengths, segmentOffsets, payloadBytes };
}

function libraryHeader(bytes: Uint8Array, requestId: number): unknown {
  try {
    return decodeCbor(bytes);
  } catch (error) {
    throw bad('header', `not the CBOR that a frame may carry: ${(error as Error).message}`, requestId);
  }
}

/** Checks that what fills the payload up to multiples of 8 is zeros; `payload` is the landed payload. */
export function checkPadding(head: FrameHead, payload: Uint8Array): void {
  for (let i = 0; i < head.segmentLengths.length; i++) {
    const end = head.segmentOffsets[i]! + head.segmentLengths[i]!;
    requireZeros(payload, end, padded(end), `padding of segment ${i}`, head.preamble.requestId);
  }
}

/**
 * Decodes a whole frame in one buffer; segments are views of it. For tests and small tools; connections use a receiver.
 */
export function decodeFrame(bytes: Uint8Array, limits: FrameLimits = LIMITS): Frame {
  const preamble = decodePreamble(bytes, limits);
  if (bytes.length !== preamble.frameBytes) {
    throw bad('frame length', `says ${preamble.frameBytes}, came ${bytes.length}`, preamble.requestId);
  }
  const head = decodeHead(preamble, bytes.subarray(0, preamble.payloadAt));
  const payload = bytes.subarray(preamble.payloadAt);
  checkPadding(head, payload);
  const segments = head.segmentOffsets.map((at, i) => payload.subarray(at, at + head.segmentLengths[i]!));
  return { kind: preamble.kind, requestId: preamble.requestId, header: head.header, segments };
}

function requireZeros(bytes: Uint8Array, from: number, to: number, field: string, requestId: number): void {
  for (let i = from; i < to; i++) if (bytes[i] !== 0) throw bad(field, 'is not zeros', requestId);
}

/** A `BadFrame`; `details.requestId` is set once it is known, so that the answer can name the request. */
export function bad(field: string, reason: string, requestId?: number): PaddletError {
  const details = requestId === undefined ? { field } : { field, requestId };
  return new PaddletError('BadFrame', `bad frame: ${field}: ${reason}`, { details });
}

function within(field: string, value: number, limit: number, requestId?: number): void {
  if (value <= limit) return;
  const details = requestId === undefined ? { field, value, limit } : { field, value, limit, requestId };
  throw new PaddletError('FrameTooLarge', `expected ${field} of at most ${limit}, got ${value}`, { details });
}
