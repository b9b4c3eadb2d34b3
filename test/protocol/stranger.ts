/** A client that does not play by the rules: raw TCP, raw WebSocket messages. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { decodeFrame, encodeFrame, type Frame } from '../../src/protocol/frames/frame.ts';
import { SUBPROTOCOL } from '../../src/protocol/websocket/version.ts';
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

export interface RawWebSocket {
  readonly ws: WebSocket;
  readonly frames: Frame[];
  /** Resolves with the n-th frame. */
  frame(n: number): Promise<Frame>;
  /** Resolves with the close code and reason. */
  readonly closed: Promise<{ code: number; reason: string }>;
  send(bytes: Uint8Array): void;
}

export async function rawWebSocket(port: number, options: { autoPong?: boolean } = {}): Promise<RawWebSocket> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/`, SUBPROTOCOL, { perMessageDeflate: false, ...options });
  ws.on('error', () => {});
  onTestFinished(() => ws.terminate());
  const frames: Frame[] = [];
  ws.on('message', (data) => frames.push(decodeFrame(data as Buffer)));
  const closed = once(ws, 'close').then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
  await once(ws, 'open');
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
