/** A client that does not play by the rules: raw TCP, raw WebSocket messages. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { decodeFrame, encodeFrame, type Frame } from '../../src/protocol/frames/frame.ts';
import { SUBPROTOCOL } from '../../src/protocol/websocket/version.ts';
import { answerTo } from './join.ts';
import { numbered } from './rig.ts';

export async function rawTcp(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** What the socket receives until it is closed. */
export async function everythingFrom(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // Not `once` of node:events: a reset is an end like any other here.
  await new Promise((resolve) => (socket.closed ? resolve(undefined) : socket.on('close', resolve)));
  return Buffer.concat(chunks).toString('latin1');
}

/** A valid handshake with the role at a port of 127.0.0.1, as text. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
export const upgradeTo = (port: number): string =>
  [
    'GET / HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    `Sec-WebSocket-Protocol: ${SUBPROTOCOL}`,
    '\r\n',
  ].join('\r\n');

/** A connection that has joined, on which the test speaks WebSocket itself. */
export async function joinedTcp(port: number): Promise<Socket> {
  const socket = await rawTcp(port);
  let got = Buffer.alloc(0);
  /** The payload of the next message; those of joining are short. */
  const message = async (): Promise<Buffer> => {
    for (;;) {
      const start = got.indexOf('\r\n\r\n') + 4;
      const end = start + 2 + (got[start + 1] ?? 0);
      if (start > 3 && got.length >= end) {
        const payload = got.subarray(start + 2, end);
        got = Buffer.concat([Buffer.from('\r\n\r\n'), got.subarray(end)]);
        return payload;
      }
      const [chunk] = await once(socket, 'data');
      got = Buffer.concat([got, chunk]);
    }
  };
  socket.write(upgradeTo(port));
  const proof = answerTo(await message(), `127.0.0.1:${port}`);
  // Final and binary; a mask of zeros changes nothing.
  socket.write(Buffer.concat([Buffer.from([0x82, 0xfe, proof.length >> 8, proof.length & 255, 0, 0, 0, 0]), proof]));
  await message();
  return socket;
}

export interface RawWebSocket {
  readonly ws: WebSocket;
  readonly frames: Frame[];
  /** Resolves with the n-th frame. */
  frame(n: number): Promise<Frame>;
  /** Resolves with the close code and reason. */
  readonly closed: Promise<{ code: number; reason: string }>;
  send(bytes: Uint8Array): void;
}

/** A connection that has joined, unless told otherwise; `frames` come after that. */
export async function rawWebSocket(
  port: number,
  { joins = true, ...options }: { autoPong?: boolean; joins?: boolean } = {},
): Promise<RawWebSocket> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/`, SUBPROTOCOL, { perMessageDeflate: false, ...options });
  ws.on('error', () => {});
  onTestFinished(() => ws.terminate());
  const frames: Frame[] = [];
  const take = (data: unknown): void => void frames.push(decodeFrame(data as Buffer));
  const closed = once(ws, 'close').then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
  if (joins) {
    const [challenge] = await once(ws, 'message');
    ws.send(answerTo(challenge, `127.0.0.1:${port}`));
    await once(ws, 'message');
    ws.on('message', take);
  } else {
    ws.on('message', take);
    await once(ws, 'open');
  }
  return {
    ws,
    frames,
    closed,
    frame: async (n) => {
      while (frames.length < n) await once(ws, 'message');
      return frames[n - 1]!;
    },
    send: (bytes) => ws.send(bytes),
  };
}

export const frameBytes = (frame: Partial<Frame>): Uint8Array =>
  new Uint8Array(
    Buffer.concat(
      encodeFrame({ kind: 'request', requestId: 1, header: { type: 'info' }, segments: [], ...frame }).buffers,
    ),
  );

export const pushBytes = (requestId: number, byteLength: number): Uint8Array =>
  frameBytes({ requestId, header: numbered(requestId).header, segments: [new Uint8Array(byteLength)] });
