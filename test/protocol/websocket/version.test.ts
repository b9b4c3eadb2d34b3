/** Peers of different versions refuse each other at the handshake, and each learns both versions. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { testToken } from '../join.ts';
import { describeOnEveryPath, fixedRandom, info, infoReply, MemoryLog, realClock, rig } from '../rig.ts';

const answer = (body: string, length = body.length): string =>
  `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n\r\n${body}`;
/** As the servers of that version wrote it, to the byte. */
const V1_ANSWER = answer('subprotocol must be paddlet.v1\n');
const V5_ANSWER = answer('subprotocol must be paddlet.v5\nthe client offers paddlet.v4\nand more\n');

/** A server that refuses every handshake; `refused` counts them. */
async function refusing(text: string): Promise<{ readonly address: string; readonly refused: () => number }> {
  let refused = 0;
  const server = createServer();
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.on('upgrade', (_request, socket) => {
    refused++;
    socket.on('error', () => {});
    socket.end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, refused: () => refused };
}

function client(address: string) {
  const timing = { backoff: { firstMs: 1, capMs: 1 } };
  const network = createWebSocketNetwork({
    clock: realClock,
    random: fixedRandom,
    joinToken: testToken,
    log: new MemoryLog(),
    timing,
  });
  const channel = network.connect(address);
  onTestFinished(() => channel.close());
  return channel;
}

describeOnEveryPath('versions', () => {
  it('a client of version 1 is refused by name', async () => {
    const { address, log } = await rig({ handler: () => infoReply });
    const ws = new WebSocket(`ws://${address}/`, ['paddlet.v1.zero-mask', 'paddlet.v1']);
    ws.on('error', () => {});
    const [, response] = await once(ws, 'unexpected-response');
    expect(response.statusCode).toBe(400);
    response.setEncoding('utf8');
    const body = (await response.toArray()).join('');
    expect(body).toBe('subprotocol must be paddlet.v4\nthe client offers paddlet.v1\n');
    await log.said(/expected a peer with paddlet\.v4, got paddlet\.v1/);
    ws.terminate();
  });

  it('repeats nothing of a stranger that is no version', async () => {
    const { address, log } = await rig({ handler: () => infoReply });
    const ws = new WebSocket(`ws://${address}/`, ['chat', 'paddlet.vX', 'xpaddlet.v1']);
    ws.on('error', () => {});
    const [, response] = await once(ws, 'unexpected-response');
    const body = (await response.toArray()).join('');
    expect(body).toContain('the client offers no version of paddlet');
    await log.said(/got no version of paddlet/);
    ws.terminate();
  });

  it.each([
    ['older', V1_ANSWER, 'paddlet.v1'],
    ['newer', V5_ANSWER, 'paddlet.v5'],
  ])('every waiting request to an %s server fails at once, naming both versions', async (_which, text, theirs) => {
    const { address, refused } = await refusing(text);
    const channel = client(address);
    const expected = {
      code: 'VersionMismatch',
      action: 'fatal',
      message: `expected the peer at ${address} to speak paddlet.v4, got ${theirs}`,
      hint: expect.stringContaining('same version'),
      details: { theirs, ours: 'paddlet.v4' },
    };
    const requests = [1, 2].map(() => channel.request(info, { timeoutMs: 600_000 }));
    for (const outcome of await Promise.allSettled(requests)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expected });
    }
    expect(refused()).toBe(1);
    await expect(channel.request(info, { timeoutMs: 600_000 })).rejects.toMatchObject(expected);
    expect(refused()).toBe(2);
  });

  it.each([
    ['names no version', answer('subprotocol must be nice\n')],
    ['names this version', answer('subprotocol must be paddlet.v4\n')],
    ['is longer than a refusal', answer('x'.repeat(100_000), 1_000_000)],
    ['ends early', answer('subprotocol must be padd', 1_000)],
  ])('an answer that %s is tried again', async (_what, text) => {
    const { address, refused } = await refusing(text);
    const channel = client(address);
    const request = channel.request(info, { timeoutMs: 600_000 });
    const ended = expect(request).rejects.toMatchObject({ code: 'ConnectionLost' });
    await expect.poll(refused).toBeGreaterThan(1);
    channel.close();
    await ended;
  });
});
