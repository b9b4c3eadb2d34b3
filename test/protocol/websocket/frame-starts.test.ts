/** Where the data frames of a viewer begin. viewers.test.ts sends them over a socket. */
import { expect, test } from 'vitest';
import { FrameStarts } from '../../../src/protocol/websocket/frame-starts.ts';

const MASK = [1, 2, 3, 4];
/** A masked frame with that first byte, and a payload of so many bytes. */
const frame = (first: number, length: number): number[] => [
  ...[first, ...(length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff]), ...MASK],
  ...Array<number>(length).fill(7),
];
const [TEXT, FIRST_PART, LAST_PART, PONG] = [0x81, 0x01, 0x80, 0x8a];

test.each([
  ['one message', [frame(TEXT, 80)], 0],
  [
    'one message in two frames, with a pong between them',
    [frame(FIRST_PART, 80), frame(PONG, 3), frame(LAST_PART, 0)],
    0,
  ],
  ['one message and a pong', [frame(TEXT, 300), frame(PONG, 125)], 0],
  ['a second message', [frame(TEXT, 300), frame(TEXT, 1)], 1],
  ['a second message after a pong', [frame(TEXT, 5), frame(PONG, 0), frame(TEXT, 0)], 1],
])('%s: %#', (_, frames, seconds) => {
  for (const pieceBytes of [1, 7, 10_000]) {
    let count = 0;
    const starts = new FrameStarts(() => count++);
    const bytes = Uint8Array.from(frames.flat());
    for (let at = 0; at < bytes.length; at += pieceBytes) starts.push(bytes.subarray(at, at + pieceBytes));
    expect(count).toBe(seconds);
  }
});
