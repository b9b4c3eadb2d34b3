/**
 * The receive loop on top of `ws`, which unmasks, answers pings and collects the fragments of a message, never more than
 * `maxPayload` of them. Each payload is then copied once, into its landing; into `any` memory not even that where `ws`
 * already has it in one aligned piece.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import type { Landing } from './channel.ts';
import {
  bad,
  checkPadding,
  decodeHead,
  decodePreamble,
  type FrameHead,
  type FrameLimits,
  PREAMBLE_BYTES,
} from './frame.ts';
import { freedOnce, plainLanding } from './landing.ts';
import type { AttachReceiver, FrameHandlers, Place, ReceivedFrame } from './receiver.ts';

export const attachWsReceiver: AttachReceiver = ({ ws }, handlers, limits) => {
  let refused = false;
  ws.binaryType = 'fragments';
  ws.on('message', (data, isBinary) => {
    // Messages that `ws` already holds may still come after a bad one.
    if (refused) return;
    try {
      if (!isBinary) throw bad('message', 'is text, frames are binary');
      receive(data as Buffer[], handlers, limits);
    } catch (error) {
      if (!(error instanceof PaddletError)) throw error;
      refused = true;
      handlers.onBadFrame(error);
    }
  });
};

function receive(fragments: readonly Uint8Array[], handlers: FrameHandlers, limits: FrameLimits): void {
  const byteLength = fragments.reduce((sum, fragment) => sum + fragment.length, 0);
  const preamble = decodePreamble(slice(fragments, 0, Math.min(PREAMBLE_BYTES, byteLength)), limits);
  if (byteLength !== preamble.frameBytes) {
    throw bad('frame length', `says ${preamble.frameBytes}, came ${byteLength}`, preamble.requestId);
  }
  const head = decodeHead(preamble, slice(fragments, 0, preamble.payloadAt));
  if (head.payloadBytes === 0) {
    handlers.onFrame(receivedFrame(head, undefined));
    return;
  }
  const place = handlers.place(head);
  if (place === 'skip') return;
  const landing = land(fragments, head, place);
  try {
    checkPadding(head, landing.bytes());
  } catch (error) {
    landing.free();
    throw error;
  }
  handlers.onFrame(receivedFrame(head, landing));
}

function land(fragments: readonly Uint8Array[], head: FrameHead, place: Exclude<Place, 'skip'>): Landing {
  const { payloadAt, frameBytes } = head.preamble;
  if (place === 'any') {
    const view = view8(fragments, payloadAt, frameBytes);
    if (view !== undefined) return { byteLength: view.length, bytes: () => view, free: () => {} };
  }
  const landing = freedOnce(place === 'any' ? plainLanding(head.payloadBytes) : place);
  const memory = landing.bytes();
  assert(memory.length >= head.payloadBytes, 'a landing holds the payload');
  assert(memory.byteOffset % 8 === 0, 'a landing begins at a multiple of 8');
  copy(fragments, payloadAt, frameBytes, memory);
  return landing;
}

function receivedFrame(head: FrameHead, landing: Landing | undefined): ReceivedFrame {
  const { kind, requestId, segmentCount, frameBytes } = head.preamble;
  return {
    kind,
    requestId,
    header: head.header,
    byteLength: frameBytes,
    segmentCount,
    segment: (index) => {
      const at = head.segmentOffsets[index];
      const length = head.segmentLengths[index];
      assert(at !== undefined && length !== undefined, 'the segment exists');
      return landing === undefined ? new Uint8Array(0) : landing.bytes().subarray(at, at + length);
    },
    free: () => landing?.free(),
  };
}

/** Calls `visit` with each piece of fragments that lies in [from, to). */
function pieces(fragments: readonly Uint8Array[], from: number, to: number, visit: (piece: Uint8Array) => void): void {
  let start = 0;
  for (const fragment of fragments) {
    const end = start + fragment.length;
    if (end > from && start < to) visit(fragment.subarray(Math.max(from - start, 0), Math.min(to, end) - start));
    if (end >= to) return;
    start = end;
  }
}

/** [from, to) as one array: a view where it lies in one fragment. */
function slice(fragments: readonly Uint8Array[], from: number, to: number): Uint8Array {
  const found: Uint8Array[] = [];
  pieces(fragments, from, to, (piece) => found.push(piece));
  return found.length === 1 ? found[0]! : Buffer.concat(found);
}

/** [from, to) as a view that starts at a multiple of 8, if there is one. */
function view8(fragments: readonly Uint8Array[], from: number, to: number): Uint8Array | undefined {
  const found: Uint8Array[] = [];
  pieces(fragments, from, to, (piece) => found.push(piece));
  const [only] = found;
  return found.length === 1 && only !== undefined && only.byteOffset % 8 === 0 ? only : undefined;
}

function copy(fragments: readonly Uint8Array[], from: number, to: number, into: Uint8Array): void {
  let at = 0;
  pieces(fragments, from, to, (piece) => {
    into.set(piece, at);
    at += piece.length;
  });
}
