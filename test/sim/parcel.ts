/** A message as it travels: a header and copies of its segments, each aligned as docs/protocol.md promises. */
import { assert } from '../../src/base/assert.ts';
import type { PaddletError } from '../../src/base/errors.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Received } from '../../src/protocol/messages/channel.ts';

export interface Parcel<H> {
  readonly header: H;
  readonly segments: readonly Uint8Array[];
}

/** What a network carries: a request, or the answer to it. */
export interface Cargo {
  readonly request: RequestHeader;
  readonly answer?: ReplyHeader | PaddletError;
  /** Of all segments, without the header. */
  readonly payloadBytes: number;
}

export const payloadOf = (segments: readonly Uint8Array[]): number =>
  segments.reduce((sum, { byteLength }) => sum + byteLength, 0);

/** A copy at an address of its own, so a view of any typed array fits. */
export const copyOf = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

export function receive<H>({ header, segments }: Parcel<H>): Received<H> {
  let isFreed = false;
  return {
    header,
    segmentCount: segments.length,
    segment(index) {
      assert(!isFreed, 'a message is not read after it was freed');
      const segment = segments[index];
      assert(segment !== undefined, `the message has segment ${index}`);
      return segment;
    },
    free() {
      isFreed = true;
    },
  };
}
